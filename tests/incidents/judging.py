"""Captures and played lives to verdicts, and verdicts to figures."""

import json
import tarfile
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from tests.incidents.answers import Look
from tests.incidents.conditions import conditions
from tests.incidents.library import Incident, Library, play
from tests.incidents.verdicts import (
    Judged,
    Outcome,
    accusations,
    graded_departures,
    is_proven,
    judge,
)
from tests.incidents.world import World


@dataclass(frozen=True, slots=True, kw_only=True)
class Verdict:
    """What came of one question about a group: is its condition named, is it left in peace, are causes right?

    `judged` is None where nothing was wrong; `held` says why a condition is not judged. `against` is what
    should not have been said.
    """

    name: str
    group: str
    condition: str
    judged: Judged | None = None
    held: str | None = None
    against: tuple[str, ...] = ()
    is_healthy: bool = False
    rings: bool = False
    right_causes: int = 0
    """Graded causes of departures that are as the diary has them; `against` has the others."""

    @property
    def failure(self) -> str | None:
        if self.against:
            return "; ".join(self.against)
        if self.judged is None or self.held is not None or self.judged.outcome is Outcome.FIRST:
            return None
        return f"{self.judged.outcome}: at first place {self.judged.said}"


@dataclass(frozen=True, slots=True)
class Figures:
    """Sums of verdicts."""

    outcomes: Counter[Outcome]
    healthy: int
    accused: int
    rings: int
    false_rings: int
    right_causes: int
    wrong_causes: int

    @classmethod
    def of(cls, verdicts: Iterable[Verdict]) -> "Figures":
        verdicts = list(verdicts)
        judged = [v for v in verdicts if v.judged is not None]
        healthy = [v for v in verdicts if v.is_healthy]
        causes = [v for v in verdicts if v.condition == CAUSES]
        return cls(
            Counter(v.judged.outcome for v in judged if v.judged is not None),
            len(healthy),
            sum(bool(v.against) for v in healthy),
            sum(v.rings for v in judged),
            sum(v.rings for v in healthy),
            sum(v.right_causes for v in causes),
            sum(len(v.against) for v in causes),
        )


CAUSES = "graded causes of departures"


def judge_story(name: str, story: dict[str, Any], looks: Sequence[Look]) -> Iterator[Verdict]:
    """Every condition of a diary, and every group that is well."""
    truth, events = story["truth"], story["events"]
    last = looks[-1]
    for one in truth:
        group, condition = one["group"], one["condition"]
        case = f"{name} {group} {condition}"
        seconds = (one["from_ms"] - story["startedMs"]) // 1000
        if sum(o["group"] == group and o["condition"] == condition for o in truth) > 1:
            case += f" at {seconds}s"
        if condition not in conditions():
            held = "no rule for this condition"
        elif conditions()[condition].healthy:
            yield _peace(case, one, truth, events, looks)
            continue
        elif not is_proven(one, events, looks):
            held = "the diary does not prove its effect"
        else:
            held = None if conditions()[condition].nameable else conditions()[condition].because
        judged = judge(truth, one, looks) if condition in conditions() and group in last.groups() else None
        if judged is None and held is None:
            held = "nothing of the group is left in the log"
        yield Verdict(
            name=case,
            group=group,
            condition=condition,
            judged=judged,
            held=held,
            rings=any(look.baseline_rings(group) for look in looks if look.now_ms >= one["from_ms"]),
        )
    yield from _before_its_trouble(name, truth, events, looks)


def _peace(
    case: str,
    one: dict[str, Any],
    truth: Sequence[dict[str, Any]],
    events: Sequence[dict[str, Any]],
    looks: Sequence[Look],
) -> Verdict:
    group = one["group"]
    troubled = any(o["group"] == group and not _is_healthy(o) for o in truth)
    against = [] if troubled else [said for look in looks for said in accusations(group, events, look)]
    return Verdict(
        name=case,
        group=group,
        condition=one["condition"],
        against=tuple(dict.fromkeys(against)),
        is_healthy=True,
        rings=any(look.baseline_rings(group) for look in looks),
    )


def _before_its_trouble(
    name: str, truth: Sequence[dict[str, Any]], events: Sequence[dict[str, Any]], looks: Sequence[Look]
) -> Iterator[Verdict]:
    """A group that something happens to later is well until then."""
    for group in sorted({one["group"] for one in truth if not _is_healthy(one)}):
        begins_ms = min(one["from_ms"] for one in truth if one["group"] == group and not _is_healthy(one))
        early = [look for look in looks if look.now_ms < begins_ms and group in look.groups()]
        if early:
            against = [said for look in early for said in accusations(group, events, look)]
            yield Verdict(
                name=f"{name} {group} before its trouble",
                group=group,
                condition="healthy",
                against=tuple(dict.fromkeys(against)),
                is_healthy=True,
                rings=any(look.baseline_rings(group) for look in early),
            )


def _is_healthy(one: dict[str, Any]) -> bool:
    return one["condition"] in conditions() and conditions()[one["condition"]].healthy


def judge_life(life: str, folder: Path, name: str) -> list[Verdict]:
    """Play a life into an empty folder, and judge what kgroup says of it."""
    return judge_world(play(life), folder, name)


def judge_world(world: World, folder: Path, name: str) -> list[Verdict]:
    """Write what a world left into an empty folder, and judge what kgroup says of it."""
    world.write(folder)
    story = json.loads((folder / "story.json").read_text(encoding="utf-8"))
    look = Look(folder, story["stoppedMs"], world.kafka)
    verdicts = list(judge_story(name, story, [look]))
    right, wrong = 0, []
    for group in world.groups.values():
        longest_ms = max((member.poll_interval_ms for member in group.clients), default=0) + 60_000
        for cause, is_right in graded_departures(group.name, story["events"], look, longest_ms):
            right += is_right
            if not is_right:
                wrong.append(f"{cause.name}: {cause.evidence}")
    if right or wrong:
        causes = Verdict(
            name=f"{name} {CAUSES}", group="", condition=CAUSES, against=tuple(wrong), right_causes=right
        )
        verdicts.append(causes)
    return verdicts


def judge_library(library: Library) -> Iterator[tuple[Incident | None, list[Verdict]]]:
    """Every incident that a log can tell of with its verdicts, then the healthy lives."""
    for entry in (*library.incidents, *library.twins):
        if entry.life is not None:
            with TemporaryDirectory() as scratch:
                verdicts = judge_life(entry.life, Path(scratch) / "logs", entry.id)
            yield entry if isinstance(entry, Incident) else None, verdicts


def judge_captures(path: Path) -> Iterator[Verdict]:
    """All captures with a diary in a folder or below, and in archives (.tar.xz) there."""
    for archive in sorted(path.rglob("*.tar.xz")):
        with TemporaryDirectory() as scratch, tarfile.open(archive) as packed:
            packed.extractall(scratch, filter="data")
            yield from _captures_below(Path(scratch), archive.name.removesuffix(".tar.xz"))
    yield from _captures_below(path, path.name)


def _captures_below(path: Path, name: str) -> Iterator[Verdict]:
    for place in sorted(path.rglob("story.json")):
        story = json.loads(place.read_text(encoding="utf-8"))
        snapshots = sorted(snapshots_beside(place.parent))
        looks = [Look(folder, now_ms) for now_ms, folder in snapshots]
        looks.append(Look(place.parent, story["stoppedMs"]))
        yield from judge_story(f"{name}/{place.parent.name}", story, looks)


def snapshots_beside(capture: Path) -> Iterator[tuple[int, Path]]:
    """Copies of the same log directory, taken earlier: folders beside the capture, and when that was."""
    for times in capture.parent.glob("*/times.json"):
        yield json.loads(times.read_text(encoding="utf-8"))["copied"], times.parent
