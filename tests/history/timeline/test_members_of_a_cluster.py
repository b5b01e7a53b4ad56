"""How members of a real 4.3.1 cluster went, and what their comings and goings add up to."""

import json
from collections import Counter
from pathlib import Path

import pytest

from kgroup.api.opened import open_logs
from kgroup.api.replay import replay
from kgroup.history.timeline.model import Cause, CauseKind, Grade, Timeline

K = CauseKind
FOLDER = Path(__file__).parents[3] / "fixtures" / "4.3.1" / "members"
HAPPENED = json.loads((FOLDER / "departures.json").read_text())["departures"]
# A session or a poll interval has to run out, and a round to end.
SLOW_MS = 25_000


@pytest.fixture(scope="module")
def timelines() -> dict[str, Timeline]:
    return dict(replay(open_logs(FOLDER), ["*"]))


def named(timelines: dict[str, Timeline]) -> list[tuple[str, Cause]]:
    """What happened to each member that a round is without, and what is said of it."""
    pairs = []
    for event in HAPPENED:
        for generation in timelines[event["group"]].generations:
            gone = {m.member_id for m in generation.left if m.client_id == event["client"]}
            if gone and 0 <= (generation.roster.at_ms or 0) - event["at_ms"] <= SLOW_MS:
                pairs += [
                    (event["happened"], cause)
                    for cause in generation.causes
                    if gone & set(cause.member_ids) and cause.kind is not K.JOIN
                ]
    return pairs


def test_what_is_graded_is_what_happened(timelines: dict[str, Timeline]) -> None:
    graded = [(happened, cause) for happened, cause in named(timelines) if cause.grade is not Grade.UNKNOWN]
    assert [(happened, cause) for happened, cause in graded if cause.kind != happened] == []
    assert Counter(happened for happened, _ in graded) == {
        "poll-interval-exceeded": 10,
        "session-expired": 3,
        "leave": 5,
    }


def test_what_is_open_has_the_truth_among_what_it_may_be(timelines: dict[str, Timeline]) -> None:
    left_open = [(happened, cause) for happened, cause in named(timelines) if cause.grade is Grade.UNKNOWN]
    assert len(left_open) == 3
    for happened, cause in left_open:
        assert happened in cause.alternatives


@pytest.mark.parametrize(
    ("group", "patterns"),
    [
        ("poll-java", ["flapping-member"]),
        ("autoscale", ["members-oscillate"]),
        ("twin-static", ["instance-id-duel"]),
        ("gc-zombie", []),
        ("oom-all", []),
        ("overstaffed", []),
        ("loss-latest", []),
        ("lso-committed", []),
    ],
)
def test_each_group_shows_the_pattern_that_it_has(
    timelines: dict[str, Timeline], group: str, patterns: list[str]
) -> None:
    assert [pattern.name for pattern in timelines[group].patterns] == patterns
