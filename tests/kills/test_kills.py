"""A few rounds of the harness, and that it notices what it is there for."""

import os
from pathlib import Path
from random import Random

import pytest

from tests.kills.disk import everything, lose
from tests.kills.story import Story

ROUNDS = 4


@pytest.mark.parametrize("power", [False, True])
def test_nothing_acknowledged_is_gone_after_a_kill(tmp_path: Path, power: bool) -> None:
    story = Story(tmp_path, 20261122, power=power)
    story.play(ROUNDS)
    assert story.figures.kills == ROUNDS
    assert story.figures.records and story.figures.commits


def test_a_disk_keeps_what_was_synced_and_may_lose_the_rest(tmp_path: Path) -> None:
    data, record, replaced = tmp_path / "data", tmp_path / "synced", tmp_path / "replaced"
    data.mkdir()
    replaced.mkdir()
    (data / "old").write_bytes(b"synced")
    before = everything(data)
    outcomes = set()
    for seed in range(60):
        (data / "old").write_bytes(b"synced and more")
        before.sizes[(data / "old").stat().st_ino] = 6
        (data / "new").write_bytes(b"new")
        record.write_text("")
        before.names[os.stat(data).st_ino] = {"old": (data / "old").stat().st_ino}
        assert lose(data, before, record, replaced, Random(seed)) in (1, 2, 3)
        assert (data / "old").read_bytes()[:6] == b"synced"
        outcomes.add(((data / "old").read_bytes() == b"synced and more", (data / "new").exists()))
    assert outcomes == {(True, True), (True, False), (False, True), (False, False)}
