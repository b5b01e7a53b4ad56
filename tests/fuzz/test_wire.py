"""Fuzzed requests: those that once failed, some thousand new ones, and that a failure would be told."""

import random

import pytest

from kgroup.broker.node import BrokerNode
from kgroup.wire.apis import APIS
from kgroup.wire.frames import read_call
from tests.fuzz import wire

CASES = list(wire.corpus())


@pytest.mark.parametrize("frames", [frames for _, frames in CASES], ids=[reason for reason, _ in CASES])
def test_requests_that_once_failed_are_answered_or_close_their_connection(frames: list[bytes]) -> None:
    target = wire.replay(frames)
    assert target.answered + target.closed == 2 * len(frames)


def test_some_thousand_requests_are_answered_or_close_their_connection() -> None:
    totals = wire.play(4_000, seed=20)
    assert totals["inputs"] == 4_000
    assert min(totals["answered"], totals["closed"]) > 400


def test_every_api_and_version_can_be_made() -> None:
    target = wire.FuzzedCluster(random.Random(1))
    maker = wire.RequestMaker(random.Random(1), target)
    for each in APIS.values():
        for version in range(each.lowest, each.highest + 1):
            call = read_call(maker._encoded(each, version), 1, "/h", APIS)
            assert (call.api_key, call.version) == (each.key, version)


def test_a_failure_names_the_seed_and_the_requests(monkeypatch: pytest.MonkeyPatch) -> None:
    def stumble(node: BrokerNode, call: object, body: object) -> None:
        raise KeyError("stumbled")

    monkeypatch.setattr(BrokerNode, "answer", stumble)
    with pytest.raises(
        wire.WireFailureError, match=r"seed 3:0: KeyError: 'stumbled'; the last requests:\n[0-9a-f]+"
    ):
        wire.play(400, seed=3)
