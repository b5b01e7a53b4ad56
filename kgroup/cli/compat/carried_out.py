"""Changes as the tool makes them: with an undo file, as kgroup's own commands write it, but unmentioned."""

import time
from pathlib import Path
from typing import TYPE_CHECKING

from kgroup.cli.options.undo_folder import default_undo_path
from kgroup.cli.shell.say import say
from kgroup.errors import SourceError

if TYPE_CHECKING:
    from kgroup.api.operations.planned import PlannedOperation
    from kgroup.net.admin.cluster import Cluster
    from kgroup.protocol.topic_partition import TopicPartition


def carried_out(cluster: "Cluster", planned: "PlannedOperation") -> "str | dict[TopicPartition, str]":
    """Do it; gives Kafka's name of the error with which all was refused, or those of partitions.

    Where no undo file can be written a line says so, and it is done all the same, as by the tool. Raises
    SourceError if the cluster does not answer.
    """
    from kgroup.api.operations.execute import execute

    now_ms = int(time.time() * 1000)
    executed = execute(cluster, planned, _undo_path(planned, now_ms), now_ms=now_ms)
    if executed.refusal is not None:
        return executed.refusal
    if executed.stopped is not None:
        raise SourceError(executed.stopped)
    return executed.refused


def _undo_path(planned: "PlannedOperation", now_ms: int) -> Path | None:
    if not planned.rows:
        return None
    try:
        return default_undo_path(planned, now_ms)
    except SourceError as error:
        say(f"no undo file: {error}")
        return None
