"""`kgroup record`: a flight recorder of consumer groups."""

import signal
import threading
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.cli.lag.view_options import parse_address
from kgroup.cli.options.record import RecordedCluster, Recording
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Quiet
from kgroup.cli.shell.say import say

if TYPE_CHECKING:
    from kgroup.log.recorder.folder import Tally
    from kgroup.net.record.recorder import Recorder

EXAMPLES: Final = (
    Example(
        "The last week of a cluster, in no more than 10 GB",
        "kgroup record -b localhost:9092 --to /var/lib/kgroup/recording --retain 7d --max-size 10GB",
    ),
    Example(
        "With metrics of the recorder at http://127.0.0.1:9309/metrics",
        "kgroup record -b localhost:9092 --to recording --serve-metrics 9309",
    ),
    Example(
        "Over TLS, with the properties of Kafka's own clients",
        "kgroup record -b kafka:9093 --command-config client.properties --to recording",
    ),
    Example(
        "What the recording shows: how far behind groups were, minute by minute",
        "kgroup lag-report recording --windows 1m",
    ),
)


def record(
    *, cluster: RecordedCluster, recording: Annotated[Recording, Bundle(Recording)], quiet: Quiet = False
) -> None:
    """Record what groups do, before compaction erases it.

    Follows __consumer_offsets and writes its batches byte for byte into segments that every other command
    reads like a broker's own. At intervals it also records the log starts and ends of all topics, so that
    past lag is known. Prints `ready DIR` once it has begun, and ends on SIGINT or SIGTERM. When restarted
    it continues where it was; anything that could no longer be fetched is noted as a hole. docs/record.md
    has the details.
    """
    from kgroup.api.record import open_recorder

    address = None if recording.serve_metrics is None else parse_address(recording.serve_metrics)
    stop = threading.Event()
    recorder = open_recorder(
        cluster,
        recording.path(),
        retention=recording.retention(),
        sample_ms=recording.sample_ms(),
        say=say,
        stop=stop,
    )
    before = {number: signal.signal(number, lambda *_: stop.set()) for number in _SIGNALS}
    try:
        if address is None:
            recorder.run(lambda: print(f"ready {recording.path()}", flush=True))
        else:
            _run_with_metrics(recorder, address, f"ready {recording.path()}")
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if not quiet:
        say(recorded_text(recorder.folder.tally))


def recorded_text(tally: "Tally") -> str:
    """What was recorded, as it is said at the end."""
    numbers = [
        f"{tally.batches} {'batch' if tally.batches == 1 else 'batches'}",
        f"{tally.bytes} {'byte' if tally.bytes == 1 else 'bytes'}",
        f"{tally.samples} {'sample' if tally.samples == 1 else 'samples'}",
    ]
    if tally.holes:
        numbers.append(f"{tally.holes} {'hole' if tally.holes == 1 else 'holes'}")
    return "recorded " + ", ".join(numbers)


_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def _run_with_metrics(recorder: "Recorder", address: tuple[str, int], ready: str) -> None:
    from kgroup.api.record import state_of
    from kgroup.net.serve.metrics_server import MetricsServer
    from kgroup.report.recording import recorder_metrics

    def page() -> str:
        return "\n".join(recorder_metrics(state_of(recorder))) + "\n"

    with MetricsServer(*address, page) as server:
        thread = threading.Thread(target=server.serve_forever, name="metrics", daemon=True)
        thread.start()
        try:
            recorder.run(lambda: print(ready, server.url, flush=True))
        finally:
            server.shutdown()
            thread.join()
