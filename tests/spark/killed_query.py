"""A query with a large state whose driver is killed: `python -m tests.spark.killed_query LOGS CHECKPOINT AT`.

AT is `report`, in the middle of micro-batch 3's, or `base`, when one has been written and what it was made of
is about to be removed.
"""

import os
import signal
import sys
from pathlib import Path
from typing import Any

from kgroup.scan.reductions.last_commits import Keep
from kgroup.spark import stream_state
from kgroup.spark.checkpoint_folder import CheckpointFolder
from kgroup.spark.reductions import Both, LastCommitsOfEach, NewestRecords
from kgroup.spark.session import open_session
from kgroup.spark.stream import StreamOptions, run_stream
from kgroup.spark.stream_state import Advanced
from tests.spark.files_topic import FilesTopic

KEEP = Keep(slots=10)
OFFSETS_MAX = 800


def stream_of(topic: FilesTopic, checkpoint: Path, offsets_max: int) -> StreamOptions[Any]:
    return StreamOptions(
        topic=topic,
        reduction=Both(NewestRecords(), LastCommitsOfEach(KEEP)),
        checkpoint=str(checkpoint),
        offsets_max=offsets_max,
        every_ms=None,
    )


def main() -> None:
    """Read until killed."""
    logs, checkpoint, at = sys.argv[1:]
    stream_state._HERE_BYTES = 0  # type: ignore[misc]
    stream_state._LARGE = 2  # type: ignore[misc]
    with open_session("local[2]") as session:
        jvm: Any = session.sparkContext._gateway

        def killed() -> None:
            os.kill(jvm.proc.pid, signal.SIGKILL)
            os.kill(os.getpid(), signal.SIGKILL)

        def each(number: int, state: Advanced[Any]) -> None:
            with state.there() as parts:
                assert parts.count()
                if number == 3 and at == "report":
                    killed()

        if at == "base":
            removed: list[str] = []

            def remove(folder: CheckpointFolder, name: str = "") -> None:
                removed.append(name)
                if removed == ["", "0"]:  # the first micro-batch removes what may be there of another query
                    killed()

            CheckpointFolder.remove = remove  # type: ignore[method-assign]
        run_stream(session, stream_of(FilesTopic(logs), Path(checkpoint), OFFSETS_MAX), each)


if __name__ == "__main__":
    main()
