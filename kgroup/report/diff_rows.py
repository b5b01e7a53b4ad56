"""Changes, and groups' positions in a mirror, as rows."""

from collections.abc import Iterable, Iterator
from typing import Final

from kgroup.history.groups.compared import Change
from kgroup.lag.findings.mirrored import MirroredCommit
from kgroup.report.emit import Column, Kind, Row

CHANGE_COLUMNS: Final = (
    Column(name="group"),
    Column(name="change"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="before_offset", kind=Kind.INTEGER),
    Column(name="after_offset", kind=Kind.INTEGER),
    Column(name="difference", kind=Kind.INTEGER),
    Column(name="before"),
    Column(name="after"),
)
CHANGE_TABLE: Final = (
    Column(name="group"),
    Column(name="change"),
    Column(name="place", header="PARTITION"),
    Column(name="before_text", header="BEFORE"),
    Column(name="after_text", header="AFTER"),
    Column(name="difference_text", header="DIFFERENCE", kind=Kind.INTEGER),
)
MIRROR_COLUMNS: Final = (
    Column(name="group"),
    Column(name="topic"),
    Column(name="partition", kind=Kind.INTEGER),
    Column(name="verdict"),
    Column(name="source_offset", kind=Kind.INTEGER),
    Column(name="mirror_offset", kind=Kind.INTEGER),
    Column(name="mirror_start", kind=Kind.INTEGER),
    Column(name="mirror_end", kind=Kind.INTEGER),
    Column(name="right_min", kind=Kind.INTEGER),
    Column(name="right_max", kind=Kind.INTEGER),
    Column(name="skipped_min", kind=Kind.INTEGER),
    Column(name="skipped_max", kind=Kind.INTEGER),
    Column(name="repeated_min", kind=Kind.INTEGER),
    Column(name="repeated_max", kind=Kind.INTEGER),
    Column(name="missing", kind=Kind.INTEGER),
)
MIRROR_TABLE: Final = (
    Column(name="group"),
    Column(name="place", header="PARTITION"),
    Column(name="verdict"),
    Column(name="source_offset", header="SOURCE", kind=Kind.INTEGER, spare=2),
    Column(name="mirror_offset", header="MIRROR", kind=Kind.INTEGER),
    Column(name="right_text", header="RIGHT", kind=Kind.INTEGER),
    Column(name="skipped_text", header="SKIPS", kind=Kind.INTEGER),
    Column(name="repeated_text", header="REPEATS", kind=Kind.INTEGER),
    Column(name="missing", kind=Kind.INTEGER, spare=1),
)


def change_rows(changes: Iterable[Change]) -> Iterator[Row]:
    """A row for each change."""
    for change in changes:
        before, after = change.before, change.after
        yield {
            "group": change.group,
            "change": change.kind.value,
            "topic": change.topic,
            "partition": change.partition,
            "place": _place(change.topic, change.partition),
            "before_offset": before if isinstance(before, int) else None,
            "after_offset": after if isinstance(after, int) else None,
            "difference": change.difference,
            "difference_text": None if change.difference is None else f"{change.difference:+,}",
            "before": before if isinstance(before, str) else None,
            "after": after if isinstance(after, str) else None,
            "before_text": before,
            "after_text": after,
        }


def mirror_rows(commits: Iterable[MirroredCommit]) -> Iterator[Row]:
    """A row for each partition that a group has committed in the source."""
    for commit in commits:
        yield {
            "group": commit.group,
            "topic": commit.topic,
            "partition": commit.partition,
            "place": _place(commit.topic, commit.partition),
            "verdict": commit.verdict.value,
            "source_offset": commit.source_offset,
            "mirror_offset": commit.mirror_offset,
            "mirror_start": commit.mirror_start,
            "mirror_end": commit.mirror_end,
            **_bounds("right", commit.right),
            **_bounds("skipped", commit.skipped),
            **_bounds("repeated", commit.repeated),
            "missing": commit.missing,
        }


def _place(topic: str | None, partition: int | None) -> str | None:
    return None if topic is None else f"{topic}-{partition}"


def _bounds(name: str, bounds: tuple[int, int] | None) -> dict[str, int | str | None]:
    low, high = bounds or (None, None)
    text = None if bounds is None else f"{low}" if low == high else f"{low}..{high}"
    return {f"{name}_min": low, f"{name}_max": high, f"{name}_text": text}
