"""Advice, and objections to a client, as rows."""

from collections.abc import Iterable, Iterator
from typing import Final

from kgroup.history.advise.model import Advice, Objection
from kgroup.history.advise.protocol_change import ProtocolStep
from kgroup.history.timeline.model import Grade
from kgroup.report.emit import Column, Kind, Row

ADVICE_COLUMNS: Final = (
    Column(name="group"),
    Column(name="setting"),
    Column(name="now"),
    Column(name="advised"),
    Column(name="grade"),
    Column(name="evidence"),
    Column(name="numbers", kind=Kind.NESTED),
    Column(name="caution"),
)
ADVICE_TABLE: Final = (
    Column(name="group"),
    Column(name="setting"),
    Column(name="now"),
    Column(name="advised"),
    Column(name="evidence"),
)
OBJECTION_COLUMNS: Final = (
    Column(name="group"),
    Column(name="property"),
    Column(name="value"),
    Column(name="verdict"),
    Column(name="grade"),
    Column(name="evidence"),
)
OBJECTION_TABLE: Final = (
    Column(name="group"),
    Column(name="property"),
    Column(name="value"),
    Column(name="verdict"),
    Column(name="evidence"),
)
PROTOCOL_COLUMNS: Final = (
    Column(name="group"),
    Column(name="subject"),
    Column(name="standing"),
    Column(name="grade"),
    Column(name="evidence"),
    Column(name="numbers", kind=Kind.NESTED),
)
PROTOCOL_TABLE: Final = (
    Column(name="group"),
    Column(name="standing"),
    Column(name="subject"),
    Column(name="evidence"),
)


def protocol_rows(steps: Iterable[ProtocolStep]) -> Iterator[Row]:
    """A row of PROTOCOL_COLUMNS for each."""
    for step in steps:
        yield {
            "group": step.group,
            "subject": step.subject,
            "standing": step.standing.value,
            "grade": step.grade.value,
            "evidence": step.evidence,
            "numbers": dict(step.numbers),
        }


def advice_rows(advice: Iterable[Advice]) -> Iterator[Row]:
    """A row of ADVICE_COLUMNS for each."""
    for piece in advice:
        yield {
            "group": piece.group,
            "setting": str(piece.setting),
            "now": piece.now,
            "advised": piece.advised,
            "grade": piece.grade.value,
            "evidence": piece.evidence,
            "numbers": dict(piece.numbers),
            "caution": piece.caution,
        }


def advice_table(advice: Iterable[Advice]) -> Iterator[Row]:
    """A row of ADVICE_TABLE for each; what the log leaves open has a question mark."""
    for piece, row in zip(advice, advice_rows(advice), strict=True):
        yield {**row, "setting": str(piece.setting) + _mark(piece.grade)}


def objection_rows(objections: Iterable[Objection]) -> Iterator[Row]:
    """A row of OBJECTION_COLUMNS for each."""
    for objection in objections:
        yield {
            "group": objection.group,
            "property": objection.name,
            "value": objection.value,
            "verdict": objection.verdict.value,
            "grade": objection.grade.value,
            "evidence": objection.evidence,
        }


def objection_table(objections: Iterable[Objection]) -> Iterator[Row]:
    """A row of OBJECTION_TABLE for each; what the log leaves open has a question mark."""
    for objection, row in zip(objections, objection_rows(objections), strict=True):
        yield {**row, "verdict": objection.verdict.value + _mark(objection.grade)}


def _mark(grade: Grade) -> str:
    return "?" if grade is Grade.UNKNOWN else ""
