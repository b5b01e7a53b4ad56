"""The conformance scenarios, played against a node and compared with what Kafka 4.3.1 answered.

They are played in real time: a latecomer is to arrive 600 ms into a delay of 1,000 ms. Where the machine
stands still for a moment that is not what happens, and neither is the answer. So what differs is played
again, alone; a node that breaks a rule answers wrong each time.
"""

import subprocess
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from pathlib import Path

import pytest

import kgroup.testing
from kgroup.broker.settings import read_properties

CONFORMANCE = Path(__file__).parents[2] / "fixtures" / "conformance"


def conformance(*arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(CONFORMANCE / "conformance.py"), *map(str, arguments)]
    return subprocess.run(command, capture_output=True, text=True, check=False)


AGAIN = 3
"""How often at most what differs is played again."""


def differing(play: Callable[[list[str]], object], compare: Callable[[], list[str]]) -> list[str]:
    """What `compare` says at last: lines of which those of scenarios that differ begin with `FAIL NAME`.

    `play` gets the names of those that are to be played alone, and none for all of them together.
    """
    play([])
    lines = compare()
    for _ in range(AGAIN):
        failed = [line.split()[1] for line in lines if line.startswith("FAIL ")]
        if not failed:
            break
        play(failed)
        lines = compare()
    return lines


def answers(profile: str, folder: Path, *, kept: bool) -> list[str]:
    """What the comparison says of a profile's scenarios; with `kept` the node has its logs on the disk."""
    properties_file = CONFORMANCE / "profiles" / f"{profile}.properties"
    properties = read_properties(properties_file.read_text(), properties_file.name)
    golden, result = CONFORMANCE / "golden" / "4.3.1.jsonl", folder / "result.jsonl"
    with kgroup.testing.cluster(properties=properties, data_dir=folder / "data" if kept else None) as kafka:

        def play(alone: list[str]) -> None:
            where = ("--bootstrap", kafka.bootstrap, "--scenarios", CONFORMANCE / "scenarios")
            which = [word for name in alone for word in ("--only", name)]
            jobs = 1 if alone else 32
            # Of several lines about a scenario in the result the last one counts.
            to = ("--out", result, "--append", "--quiet")
            played = conformance("run", "--profile", profile, "--jobs", jobs, *which, *where, *to)
            assert played.returncode == 0, played.stderr

        def compare() -> list[str]:
            return conformance("compare", golden, result, "--profile", profile).stdout.splitlines()

        return differing(play, compare)


@pytest.fixture(scope="module")
def plays(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[tuple[str, bool], Future[list[str]]]]:
    """The answers of each profile that a chosen test asks for, all at once: they mostly wait for timers."""
    calls = [item.callspec.params for item in request.session.items if hasattr(item, "callspec")]
    wanted = [
        (call["profile"], call["kept"]) for call in calls if call.keys() >= {"profile", "scenarios", "kept"}
    ]
    with ThreadPoolExecutor(len(wanted)) as pool:
        yield {
            (profile, kept): pool.submit(answers, profile, tmp_path_factory.mktemp(profile), kept=kept)
            for profile, kept in wanted
        }


@pytest.mark.parametrize("kept", [pytest.param(False, id="in-memory"), pytest.param(True, id="data-dir")])
@pytest.mark.parametrize(("profile", "scenarios"), [("default", 452), ("delay", 22), ("consumer", 109)])
def test_every_scenario_is_answered_as_kafka_4_3_1_does(
    profile: str, scenarios: int, kept: bool, plays: dict[tuple[str, bool], Future[list[str]]]
) -> None:
    lines = plays[profile, kept].result()
    assert [line for line in lines if line.startswith("FAIL")] == []
    assert lines[-1] == f"{scenarios} passed, 0 failed"


STALLED, GOOD = "FAIL delay.late  step 2 (JoinGroup)", "PASS delay.late"


@pytest.mark.parametrize(
    ("answers", "last"),
    [
        pytest.param([GOOD], GOOD, id="right at once"),
        pytest.param([STALLED, GOOD], GOOD, id="the machine stood still"),
        pytest.param([STALLED] * (1 + AGAIN), STALLED, id="a rule is broken"),
    ],
)
def test_what_differs_is_played_again_alone_and_then_not_for_ever(answers: list[str], last: str) -> None:
    played: list[list[str]] = []
    left = iter(answers)
    lines = differing(played.append, lambda: ["PASS join.first", next(left)])
    assert lines == ["PASS join.first", last]
    assert played == [[], *[["delay.late"]] * (len(answers) - 1)]
    assert list(left) == []
