"""Remarks below a table of generations: patterns, and events between generations."""

from collections.abc import Iterable, Iterator

from kgroup.history.timeline.model import Timeline


def timeline_remarks(timelines: Iterable[Timeline], *, events: bool) -> Iterator[str]:
    """Events between generations, and patterns over many of them; `events` says that these are
    shown anyway.
    """
    for timeline in timelines:
        where = f"group {timeline.group_id}: "
        if not timeline.generations and not events:
            commits = "1 commit" if timeline.commits == 1 else f"{timeline.commits} commits"
            yield f"{where}no generations: {commits} without membership"
        for pattern in timeline.patterns:
            yield f"{where}{pattern.name}: {pattern.evidence}"
            if pattern.remedy:
                yield f"{where}{pattern.name}: try: {pattern.remedy}"
        if timeline.occurrences and timeline.generations and not events:
            kinds = ", ".join(
                dict.fromkeys(str(occurrence.cause.kind) for occurrence in timeline.occurrences)
            )
            yield f"{where}between the generations: {kinds}; --events shows them"
