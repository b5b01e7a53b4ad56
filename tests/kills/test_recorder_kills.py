"""Deaths of a recorder: nothing is missing afterwards or there twice, and the harness would notice."""

from pathlib import Path

import pytest

from tests.kills.recorder import deaths, whole, wrongs
from tests.log.recorder.batches import commit

COUNT = 8


def test_a_recorder_that_dies_misses_nothing_and_doubles_nothing(tmp_path: Path) -> None:
    assert list(deaths(tmp_path, seed=1, count=COUNT)) == []
    assert len(whole(tmp_path / "rec" / "__consumer_offsets-0")) > 1000


@pytest.mark.parametrize("batches", [(0, 1), (0, 1, 2, 2), (0, 1, 3), (1, 2), (0, 2, 1)])
def test_each_loss_is_noticed(tmp_path: Path, batches: tuple[int, ...]) -> None:
    for name, offsets in (("data", (0, 1, 2)), ("rec", batches)):
        folder = tmp_path / name / "__consumer_offsets-1"
        folder.mkdir(parents=True)
        (folder / f"{0:020}.log").write_bytes(b"".join(commit(offset) for offset in offsets))
    (wrong,) = wrongs(tmp_path / "data", tmp_path / "rec")
    assert wrong.startswith("__consumer_offsets-1: ")
