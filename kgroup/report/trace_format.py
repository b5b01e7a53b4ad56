"""The trace event format of Chrome's tracing, which Perfetto and other viewers open.

Format: "Trace Event Format" (Google), JSON object form. A track is a thread there, and tracks that belong
together are a process. Times are microseconds.
"""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field

from kgroup.report.emit import JsonText, to_json

_US_PER_MS = 1000


@dataclass(frozen=True, slots=True, kw_only=True)
class Span:
    """Something that lasts from `begin_ms` to `end_ms` on a track; spans of one track do not overlap."""

    process: str
    track: str
    name: str
    begin_ms: int
    end_ms: int
    args: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Moment:
    """Something that happens at a time on a track."""

    process: str
    track: str
    name: str
    at_ms: int
    args: Mapping[str, object] = field(default_factory=dict)


@dataclass(frozen=True, slots=True, kw_only=True)
class Exchange:
    """A span that may overlap others of its track, such as a request until its answer; `number` tells them
    apart.
    """

    process: str
    track: str
    name: str
    begin_ms: int
    end_ms: int
    number: int
    args: Mapping[str, object] = field(default_factory=dict)


TraceItem = Span | Moment | Exchange


def trace_lines(items: Iterable[TraceItem]) -> Iterator[str]:
    """Lines of a JSON object with one event each. Tracks are numbered in the order in which they come."""
    yield '{"displayTimeUnit":"ms","traceEvents":['
    before: JsonText | None = None
    for event in _events(items):
        if before is not None:
            yield f"{before},"
        before = to_json(event)
    if before is not None:
        yield before
    yield "]}"


def _events(items: Iterable[TraceItem]) -> Iterator[Mapping[str, object]]:
    numbers: dict[str, dict[str, int]] = {}
    for item in items:
        if item.process not in numbers:
            numbers[item.process] = {}
            pid = len(numbers)
            yield {"ph": "M", "name": "process_name", "pid": pid, "tid": 0, "args": {"name": item.process}}
            yield {"ph": "M", "name": "process_sort_index", "pid": pid, "tid": 0, "args": {"sort_index": pid}}
        pid, tracks = list(numbers).index(item.process) + 1, numbers[item.process]
        if item.track not in tracks:
            tid = tracks[item.track] = len(tracks) + 1
            yield {"ph": "M", "name": "thread_name", "pid": pid, "tid": tid, "args": {"name": item.track}}
            yield {
                "ph": "M",
                "name": "thread_sort_index",
                "pid": pid,
                "tid": tid,
                "args": {"sort_index": tid},
            }
        yield from _shapes(item, {"name": item.name, "pid": pid, "tid": tracks[item.track]})


def _shapes(item: TraceItem, common: Mapping[str, object]) -> Iterator[Mapping[str, object]]:
    args = dict(item.args)
    match item:
        case Span():
            lasting = (item.end_ms - item.begin_ms) * _US_PER_MS
            yield {"ph": "X", **common, "ts": item.begin_ms * _US_PER_MS, "dur": lasting, "args": args}
        case Moment():
            yield {"ph": "i", **common, "ts": item.at_ms * _US_PER_MS, "s": "t", "args": args}
        case Exchange():
            own = {**common, "cat": "exchange", "id": item.number}
            yield {"ph": "b", **own, "ts": item.begin_ms * _US_PER_MS, "args": args}
            yield {"ph": "e", **own, "ts": item.end_ms * _US_PER_MS}
