"""Timelines for a browser: one self-contained page."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

from kgroup.history.timeline.model import Cause, Generation, Occurrence, Timeline
from kgroup.report import page
from kgroup.report.timeline.lanes import Cell, cause_class, picture_of

_TEMPLATE: Final = "timeline.html"


def write_page(timelines: Sequence[Timeline], path: Path) -> None:
    """Write the page. Raises SourceError if the file cannot be written."""
    page.write_page(_TEMPLATE, [_group(timeline) for timeline in timelines], path)


def _group(timeline: Timeline) -> dict[str, object]:
    picture = picture_of(timeline)
    return {
        "group": timeline.group_id,
        "commits": timeline.commits,
        "most": picture.most_owned,
        "lanes": [[lane.label, lane.host, len(lane.member_ids)] for lane in picture.lanes],
        "generations": [
            _generation(generation, cells)
            for generation, cells in zip(timeline.generations, picture.columns, strict=True)
        ],
        "events": [_occurrence(occurrence) for occurrence in timeline.occurrences],
        "patterns": [
            {
                "name": pattern.name,
                "from": pattern.from_ms,
                "to": pattern.to_ms,
                "evidence": pattern.evidence,
                "remedy": pattern.remedy,
            }
            for pattern in timeline.patterns
        ],
    }


def _generation(generation: Generation, cells: Sequence[Cell]) -> dict[str, object]:
    roster = generation.roster
    return {
        "n": roster.generation,
        "t": roster.at_ms,
        "kind": roster.kind,
        "protocol": roster.protocol,
        "moved": generation.moved.moved,
        "kept": generation.moved.kept,
        "since": generation.since_previous_ms,
        "gap": max((gap.length_ms for gap in generation.gaps), default=0),
        "usual": generation.usual_interval_ms,
        "commits": generation.commits,
        "cut": generation.cut,
        "skipped": generation.unfinished,
        "causes": [_cause(cause) for cause in generation.causes],
        # One flat list instead of a hundred objects: lane, owned, gained, lost, gap, leads.
        "cells": [
            number
            for cell in cells
            for number in (cell.lane, cell.owned, cell.gained, cell.lost, cell.gap_ms, int(cell.leads))
        ],
    }


def _cause(cause: Cause) -> list[object]:
    return [
        cause_class(cause),
        cause.kind,
        cause.grade,
        cause.evidence,
        list(cause.alternatives),
        cause.remedy,
    ]


def _occurrence(occurrence: Occurrence) -> dict[str, object]:
    return {
        "t": occurrence.at_ms,
        "n": occurrence.generation,
        "cause": _cause(occurrence.cause),
        "partitions": len(occurrence.partitions),
    }
