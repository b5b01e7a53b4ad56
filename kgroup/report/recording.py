"""The recorder's own metrics for Prometheus."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from kgroup.report.lag.metrics import gauge


@dataclass(frozen=True, slots=True, kw_only=True)
class RecorderState:
    """The state of a recorder. Times are epoch ms, 0 for never; counts are since it was started."""

    up: bool
    failures: int
    fetched_ms: int
    sampled_ms: int
    behind: Mapping[int, int]
    batches: int
    bytes: int
    samples: int
    holes: int
    missing_offsets: int
    folded_bytes: int
    dropped_bytes: int
    size_bytes: int


def recorder_metrics(state: RecorderState) -> Iterator[str]:
    """Lines without line ends."""
    yield from gauge("kgroup_recorder_up", "1 if the last round succeeded.", [({}, int(state.up))])
    for name, help_text, number in (
        ("failures", "Rounds that failed.", state.failures),
        ("batches", "Batches that were written.", state.batches),
        ("bytes", "Bytes of batches that were written.", state.bytes),
        ("samples", "Samples of log ends that were written.", state.samples),
        ("holes", "Gaps that could not be avoided.", state.holes),
        ("missing_offsets", "Offsets in those gaps.", state.missing_offsets),
        (
            "folded_bytes",
            "Bytes removed by keeping only the newest record of each key.",
            state.folded_bytes,
        ),
        ("dropped_bytes", "Bytes of old samples and set-aside recordings removed.", state.dropped_bytes),
    ):
        yield from gauge(f"kgroup_recorder_{name}_total", help_text, [({}, number)], "counter")
    yield from gauge("kgroup_recorder_size_bytes", "Bytes of the recording.", [({}, state.size_bytes)])
    for name, help_text, at_ms in (
        ("fetch", "When batches were last fetched successfully.", state.fetched_ms),
        ("sample", "When the last sample was taken.", state.sampled_ms),
    ):
        if at_ms:
            yield from gauge(f"kgroup_recorder_{name}_timestamp_seconds", help_text, [({}, at_ms / 1000)])
    yield from gauge(
        "kgroup_recorder_behind_offsets",
        "Offsets of a partition of the offsets topic that were not yet recorded at the last sample.",
        [({"partition": partition}, offsets) for partition, offsets in sorted(state.behind.items())],
    )
