"""The columns of records, in files and in tables."""

from typing import Final

from kgroup.report.emit import Column, Kind
from kgroup.report.records.arrow_types import batch_type, key_type, value_type

COLUMNS: Final = (
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="segment"),
    Column(name="offset", kind=Kind.INTEGER),
    Column(name="timestamp", kind=Kind.TIME_MS),
    Column(name="kind"),
    Column(name="type"),
    Column(name="group"),
    Column(name="keyVersion", kind=Kind.INTEGER),
    Column(name="valueVersion", kind=Kind.INTEGER),
    Column(name="key", kind=Kind.NESTED),
    Column(name="value", kind=Kind.NESTED),
    Column(name="transaction"),
    Column(name="note"),
    Column(name="control"),
    Column(name="error"),
    Column(name="keyHex"),
    Column(name="valueHex"),
    Column(name="position", kind=Kind.INTEGER),
    Column(name="bytes", kind=Kind.INTEGER),
    Column(name="batch", kind=Kind.NESTED),
)
ARROW_COLUMNS: Final = (
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="segment"),
    Column(name="offset", kind=Kind.INTEGER),
    Column(name="timestamp", kind=Kind.TIME_MS),
    Column(name="keySize", kind=Kind.INTEGER),
    Column(name="valueSize", kind=Kind.INTEGER),
    Column(name="keyVersion", kind=Kind.INTEGER),
    Column(name="valueVersion", kind=Kind.INTEGER),
    Column(name="kind"),
    Column(name="type"),
    Column(name="group"),
    Column(name="key", kind=Kind.NESTED, nested=key_type),
    Column(name="value", kind=Kind.NESTED, nested=value_type),
    Column(name="transaction"),
    Column(name="control"),
    Column(name="coordinatorEpoch", kind=Kind.INTEGER),
    Column(name="note"),
    Column(name="error"),
    Column(name="keyHex"),
    Column(name="valueHex"),
    Column(name="position", kind=Kind.INTEGER),
    Column(name="bytes", kind=Kind.INTEGER),
    Column(name="path"),
    Column(name="batch", kind=Kind.NESTED, nested=batch_type),
)
"""Of Parquet files and tables of Arrow: every field of the JSON, and the group whatever the key calls it."""
SCHEMA_VERSION: Final = "records/2"
"""Goes up when a column changes its name or type; version 1 had `key`, `value` and `batch` as JSON text."""
TABLE_COLUMNS: Final = (
    Column(name="partition", header="P", kind=Kind.INTEGER),
    Column(name="offset", kind=Kind.INTEGER),
    Column(name="timestamp", header="TIME", kind=Kind.TIME_MS),
    Column(name="group"),
    Column(name="what"),
)
