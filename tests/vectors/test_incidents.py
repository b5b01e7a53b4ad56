"""The incidents of others: each is named, told in part or missed as `results.toml` has it."""

from dataclasses import replace
from pathlib import Path

import pytest

from kgroup.history.timeline.model import Grade
from tests.incidents import answers, judging
from tests.incidents.__main__ import RECORDED
from tests.incidents.answers import Answer
from tests.incidents.conditions import conditions
from tests.incidents.judging import Verdict, judge_captures, judge_life, judge_story
from tests.incidents.library import HERE, Incident, Twin, play, read_library
from tests.incidents.results import README, Result, read_results, readme_with, result_of, sentence
from tests.incidents.verdicts import Judged, Outcome
from tests.vectors import incidents
from tests.vectors.case import VectorError

LIBRARY = read_library()
PLAYED = [entry for entry in (*LIBRARY.incidents, *LIBRARY.twins) if entry.life is not None]


def without_reasons(results: dict[str, Result]) -> dict[str, Result]:
    return {name: replace(result, miss="") for name, result in results.items()}


@pytest.mark.parametrize("entry", PLAYED, ids=lambda entry: entry.id)
def test_what_is_said_of_a_life_is_what_the_results_have(entry: Incident | Twin, tmp_path: Path) -> None:
    assert entry.life is not None
    judged = {v.name: result_of(v) for v in judge_life(entry.life, tmp_path / "logs", entry.id)}
    expected = {name: r for name, r in read_results().items() if name.startswith(f"{entry.id} ")}
    assert judged == without_reasons(expected), "if it is meant so: python -m tests.incidents"


def test_what_is_said_of_recorded_incidents_is_what_the_results_have() -> None:
    judged = {verdict.name: result_of(verdict) for verdict in judge_captures(RECORDED)}
    expected = {name: result for name, result in read_results().items() if "/" in name.partition(" ")[0]}
    assert judged == without_reasons(expected), "if it is meant so: python -m tests.incidents"


def test_every_miss_has_a_reason_and_no_reason_stands_at_what_is_none() -> None:
    results = read_results().values()
    assert [result.name for result in results if result.fails and not result.miss] == []
    assert [result.name for result in results if result.miss and not result.fails] == []


def test_every_result_is_of_something_that_is_judged() -> None:
    known = {entry.id for entry in PLAYED}
    unknown = {name.partition(" ")[0] for name in read_results()} - known
    assert all("/" in name for name in unknown), unknown


def test_all_49_are_there_once_and_those_that_no_log_tells_say_why() -> None:
    assert [incident.number for incident in LIBRARY.incidents] == list(range(1, 50))
    for incident in LIBRARY.incidents:
        assert (incident.life is None) != (incident.not_in_log is None)
        assert incident.threads and incident.symptom
    assert len({entry.life for entry in PLAYED}) == len(PLAYED)


def test_the_readme_has_the_figure() -> None:
    text = README.read_text(encoding="utf-8")
    drawn = sentence(LIBRARY, read_results())
    assert readme_with(text, drawn) == text, "run python -m tests.incidents"


def test_a_life_is_the_same_every_time(tmp_path: Path) -> None:
    for name in ("one", "two"):
        play("rebalances.autoscaler_on_lag").write(tmp_path / name)
    one, two = (
        {path.relative_to(folder): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}
        for folder in (tmp_path / "one", tmp_path / "two")
    )
    assert one == two


def test_every_condition_says_why_and_healthy_ones_name_nothing() -> None:
    for name, condition in conditions().items():
        assert condition.because, name
        assert not (condition.healthy and condition.names), name
        assert condition.healthy or condition.names or not condition.nameable, name
        assert not condition.names & condition.misleads, name
        assert condition.healthy or not condition.nameable or condition.proof, name


class Said:
    """A look that says what a test wants."""

    def __init__(self, now_ms: int = 1000, **said: list[Answer]) -> None:
        self.now_ms, self.said = now_ms, said

    def groups(self) -> list[str]:
        return ["g"]

    def findings(self, group: str) -> list[Answer]:
        return self.said.get("findings", [])

    def patterns(self, group: str) -> list[Answer]:
        return self.said.get("patterns", [])

    def causes(self, group: str) -> list[Answer]:
        return self.said.get("causes", [])

    def loading(self, group: str) -> list[Answer]:
        return self.said.get("loading", [])

    def in_mirror(self, group: str) -> list[Answer]:
        return self.said.get("in_mirror", [])

    def notes(self, group: str) -> set[str]:
        return set()

    def lag(self, group: str) -> int:
        return 5

    def log_starts(self, group: str) -> int:
        return 0

    def baseline_rings(self, group: str) -> bool:
        return False

    @property
    def statuses(self) -> dict[str, list[object]]:
        return {}


def said(name: str, grade: Grade = Grade.INFERRED, **more: object) -> Answer:
    return Answer(name, grade, "so it is", 500, **more)  # type: ignore[arg-type]


def verdicts(
    condition: str, *looks: Said, events: tuple[dict[str, object], ...] = (), to_ms: int = 1000
) -> list[Verdict]:
    truth = [{"group": "g", "condition": condition, "from_ms": 0, "to_ms": to_ms}]
    return list(judge_story("c", {"startedMs": 0, "truth": truth, "events": list(events)}, looks))  # type: ignore[arg-type]


LOST = ({"t": 400, "group": "g", "what": "lost"},)
U = Grade.UNKNOWN


@pytest.mark.parametrize(
    ("condition", "look", "outcome"),
    [
        ("stuck-no-commits", Said(findings=[said("stopped-group")]), Outcome.FIRST),
        ("stuck-no-commits", Said(findings=[said("lag-growing"), said("stopped-group")]), Outcome.PART),
        ("stuck-no-commits", Said(findings=[said("stopped-group", U)]), Outcome.PART),
        ("stuck-no-commits", Said(findings=[said("lag-growing")]), Outcome.PART),
        ("stuck-no-commits", Said(findings=[said("hot-partition")]), Outcome.SILENT),
        ("stuck-no-commits", Said(), Outcome.SILENT),
        ("max-poll-interval-exceeded", Said(causes=[said("poll-interval-exceeded")]), Outcome.FIRST),
        (
            "max-poll-interval-exceeded",
            Said(causes=[said("session-expired"), said("poll-interval-exceeded")]),
            Outcome.PART,
        ),
        (
            "max-poll-interval-exceeded",
            Said(causes=[said("member-gone", U, alternatives=("poll-interval-exceeded",))]),
            Outcome.PART,
        ),
        ("max-poll-interval-exceeded", Said(causes=[said("join")]), Outcome.SILENT),
        ("autoscaler-flapping", Said(patterns=[said("members-oscillate")]), Outcome.FIRST),
        # The evidence has to say it, too.
        ("partition-not-returned", Said(findings=[said("stalled-partition")]), Outcome.PART),
        (
            "reader-blocked-by-open-transaction",
            Said(findings=[said("stopped-group"), said("open-transaction")]),
            Outcome.PART,
        ),
        ("commits-without-membership", Said(causes=[said("no-membership")]), Outcome.FIRST),
        # It misleads, whatever else is right.
        (
            "commits-without-membership",
            Said(findings=[said("stopped-group")], causes=[said("no-membership")]),
            Outcome.PART,
        ),
    ],
)
def test_a_name_counts_at_first_place_only(condition: str, look: Said, outcome: Outcome) -> None:
    others = ("txn-opened", "stop-member", "raw-commit")
    events = (*LOST, *({"t": 400, "group": None, "what": what} for what in others))
    (verdict,) = verdicts(condition, look, events=events)
    assert verdict.held is None
    assert verdict.judged is not None and verdict.judged.outcome is outcome
    assert (verdict.failure is None) == (outcome is Outcome.FIRST)


def test_a_condition_without_a_rule_or_without_proof_is_held_and_no_case() -> None:
    (unknown,) = verdicts("moon-in-the-seventh-house", Said(findings=[said("stopped-group")]))
    assert (unknown.held, unknown.failure) == ("no rule for this condition", None)
    (unproven,) = verdicts("max-poll-interval-exceeded", Said(causes=[said("poll-interval-exceeded")]))
    assert unproven.held == "the diary does not prove its effect"


@pytest.mark.parametrize(
    "look",
    [
        Said(findings=[said("stopped-group")]),
        Said(findings=[said("stopped-group", U)]),
        Said(patterns=[said("rebalance-storm")]),
        Said(causes=[said("session-expired")]),
    ],
)
def test_whatever_blames_a_healthy_group_accuses_it(look: Said) -> None:
    (verdict,) = verdicts("healthy", Said(), look)
    assert verdict.failure


def test_hygiene_ordinary_comings_and_goings_and_what_did_happen_are_no_accusation() -> None:
    look = Said(
        findings=[said("useless-members", is_trouble=False)],
        causes=[said("join"), said("leave"), said("session-expired"), said("rewind", U)],
    )
    (verdict,) = verdicts("healthy", look, events=LOST)
    assert (verdict.failure, verdict.is_healthy) == (None, True)


def test_a_group_is_well_before_its_trouble_begins() -> None:
    truth = [{"group": "g", "condition": "stuck-no-commits", "from_ms": 500, "to_ms": 1000}]
    looks = [Said(100, findings=[said("stopped-group")]), Said(1000, findings=[said("stopped-group")])]
    story = {"startedMs": 0, "truth": truth, "events": []}
    named, before = judge_story("c", story, looks)  # type: ignore[arg-type]
    assert named.failure is None
    assert before.failure and before.name == "c g before its trouble"


def test_findings_are_of_now_and_not_asked_for_what_is_long_over() -> None:
    (verdict,) = verdicts("stuck-no-commits", Said(500_000, findings=[said("stopped-group")]), to_ms=1000)
    assert verdict.judged is not None and verdict.judged.outcome is Outcome.SILENT


def test_a_life_without_its_effect_fails(tmp_path: Path) -> None:
    world = play("healthy.topic_grows")
    with pytest.raises(AssertionError, match="it rained"):
        world.proven("it rained", False)


def test_a_folder_without_a_diary_or_a_list_is_no_case(tmp_path: Path) -> None:
    with pytest.raises(VectorError):
        list(incidents.cases(tmp_path))


def test_an_archive_that_is_none_is_one_failing_case(tmp_path: Path) -> None:
    (tmp_path / "noise.tar.xz").write_bytes(b"noise")
    (case,) = incidents.cases(tmp_path)
    assert case.failure is not None and case.failure.startswith("ReadError")


def test_the_sums_tell_what_was_named_and_what_the_baseline_does(capsys: pytest.CaptureFixture[str]) -> None:
    sums = [
        Verdict(name="a", group="g", condition="x", judged=Judged(Outcome.FIRST, "x"), rings=True),
        Verdict(name="b", group="g", condition="x", judged=Judged(Outcome.SILENT, "nothing")),
        Verdict(name="c", group="g", condition="x", held="no rule"),
        Verdict(name="d", group="g", condition="healthy", is_healthy=True, rings=True),
        Verdict(name="e", group="g", condition="healthy", is_healthy=True, against=("x",)),
        Verdict(name="f", group="", condition=judging.CAUSES, right_causes=9, against=("leave: y",)),
    ]
    assert list(incidents.sums(sums)) == [
        "conditions: 1 named, 0 in part, 1 silent; 1 not judged",
        "healthy groups: 1 of 2 accused",
        "graded causes of departures: 9 of 10 right (0.900)",
        "naive baseline (lag above 1,000, or no commit for 5 minutes): "
        "rings for 1 of 2 conditions and names none, and for 1 of 2 healthy groups",
    ]


def test_recorded_captures_are_cases_of_the_command(capsys: pytest.CaptureFixture[str]) -> None:
    failing = {case.name for case in incidents.cases(RECORDED) if case.failure}
    assert failing == {name for name, result in read_results().items() if "/" in name and result.fails}
    assert "naive baseline" in capsys.readouterr().out


def test_those_that_no_log_tells_are_printed_and_not_counted() -> None:
    held = [incidents.not_in_log(incident) for incident in LIBRARY.incidents if incident.not_in_log]
    assert [verdict.name[:2] for verdict in held] == ["22", "38", "41", "42"]
    assert all(incidents.line(verdict).startswith("held ") and verdict.failure is None for verdict in held)
    assert (HERE / "incidents.toml").exists() and answers.BASELINE_LAG == 1000
