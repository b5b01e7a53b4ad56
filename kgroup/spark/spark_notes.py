"""Spark's own notes in a stream's checkpoint, as text: the query's id, and how far each micro-batch reads."""

import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar

from kgroup.spark.checkpoint_folder import damage_named, damaged
from kgroup.spark.positions import Positions

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

Value = TypeVar("Value")


def stream_id(session: "SparkSession", checkpoint: str) -> str:
    """The id that Spark gave the query when the checkpoint was new. Raises InputError for a damaged one."""
    return _noted(session, checkpoint, "metadata", lambda lines: str(json.loads(lines[0])["id"]))


def positions_of(session: "SparkSession", checkpoint: str, number: int) -> Positions:
    """The end of micro-batch `number`, noted before it begins. Raises InputError for a damaged note.

    The note has the version of its form, facts of the micro-batch, and a line for each source.
    """
    return _noted(
        session, checkpoint, f"offsets/{number}", lambda lines: Positions.of_json(json.loads(lines[-1]))
    )


def _noted(session: "SparkSession", checkpoint: str, note: str, read: Callable[[list[Any]], Value]) -> Value:
    with damage_named(checkpoint):
        rows = session.read.text(f"{checkpoint.rstrip('/')}/{note}").collect()
    try:
        return read([row.value for row in rows])
    except (IndexError, KeyError, TypeError, ValueError):
        raise damaged(checkpoint, f"{note} is not as Spark writes it") from None
