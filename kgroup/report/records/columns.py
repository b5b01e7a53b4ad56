"""The columns of records, in files and in tables."""

from typing import Final

from kgroup.report.emit import Column, Kind

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
TABLE_COLUMNS: Final = (
    Column(name="partition", header="P", kind=Kind.INTEGER),
    Column(name="offset", kind=Kind.INTEGER),
    Column(name="timestamp", header="TIME", kind=Kind.TIME_MS),
    Column(name="group"),
    Column(name="what"),
)
