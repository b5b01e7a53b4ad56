"""How far share groups are, by their own topic: as a broker of 4.3.1 said, and record by record."""

import json
import shutil
from pathlib import Path
from uuid import UUID

import pytest

from kgroup.api.groups.groups import groups
from kgroup.api.opened import open_logs
from kgroup.errors import DecodeError
from kgroup.log.topics.share_state import ShareProgress, _take, read_share_state
from kgroup.protocol.share_state import (
    ShareSnapshotValue,
    ShareUpdateValue,
    StateBatch,
    decode_share_state,
)

LIVES = Path("fixtures/4.3.1/lives")
ID = UUID(int=7)
KEY = b"\0\0" + b"\0\1g" + ID.bytes + b"\0\0\0\2"


def snapshot(start: int, complete: int = 0) -> ShareSnapshotValue:
    return ShareSnapshotValue(
        snapshot_epoch=1,
        state_epoch=0,
        leader_epoch=4,
        start_offset=start,
        create_timestamp=0,
        write_timestamp=0,
        state_batches=(),
        delivery_complete_count=complete,
    )


def update(start: int, complete: int = 0) -> ShareUpdateValue:
    return ShareUpdateValue(
        snapshot_epoch=1,
        leader_epoch=5,
        start_offset=start,
        state_batches=(),
        delivery_complete_count=complete,
    )


def test_rows_are_what_the_broker_answered() -> None:
    """`groups.json` has DescribeShareGroupOffsets' answer of the same moment."""
    said = json.loads((LIVES / "groups.json").read_text())["groups"]
    names = ["share-queue", "share-queue-left"]
    with open_logs(LIVES) as logs:
        seen = groups(logs, groups=names)
    assert [group.group.group_id for group in seen] == names
    for group in seen:
        of_broker = said[group.group.group_id]["shareOffsets"]
        assert {
            f"{row.topic}-{row.partition}": {
                "startOffset": row.current_offset,
                "leaderEpoch": row.leader_epoch,
                "lag": row.lag,
            }
            for row in group.rows
        } == of_broker


def test_without_that_topic_there_are_no_rows(tmp_path: Path) -> None:
    without = shutil.ignore_patterns("__share_group_state-*")
    shutil.copytree(LIVES, tmp_path / "lives", ignore=without)
    with open_logs(tmp_path / "lives") as logs:
        [group] = groups(logs, groups="share-queue")
    assert group.rows == ()


def test_of_two_copies_the_one_that_reaches_further_counts(tmp_path: Path) -> None:
    behind = tmp_path / "a"
    for folder in LIVES.glob("__share_group_state-*"):
        shutil.copytree(folder, behind / folder.name)
        [log] = (behind / folder.name).glob("*.log")
        whole = log.read_bytes()
        log.write_bytes(whole[: 12 + int.from_bytes(whole[8:12], "big")])  # its first batch alone
    newest, problems = read_share_state([LIVES])
    older, _ = read_share_state([behind])
    assert problems == []
    assert older != newest
    assert read_share_state([LIVES, behind])[0] == read_share_state([behind, LIVES])[0] == newest


def test_damage_is_told_with_its_place(tmp_path: Path) -> None:
    shutil.copytree(LIVES / "__share_group_state-1", tmp_path / "__share_group_state-1")
    [log] = (tmp_path / "__share_group_state-1").glob("*.log")
    log.write_bytes(log.read_bytes()[:-5])
    _, problems = read_share_state([tmp_path])
    [problem] = problems
    assert problem.startswith(f"{log} at byte ")


@pytest.mark.parametrize(
    ("values", "then"),
    [
        ([snapshot(-1, 0)], ShareProgress(start_offset=None, complete=0, leader_epoch=4)),
        ([snapshot(7, -1)], ShareProgress(start_offset=7, complete=None, leader_epoch=4)),
        ([snapshot(7), update(9, 2)], ShareProgress(start_offset=9, complete=2, leader_epoch=5)),
        ([snapshot(7), update(-1, 2)], ShareProgress(start_offset=7, complete=2, leader_epoch=5)),
        ([snapshot(7), snapshot(-1)], ShareProgress(start_offset=None, complete=0, leader_epoch=4)),
        ([snapshot(7), None], None),
        ([None], None),
    ],
)
def test_a_snapshot_replaces_and_an_update_changes(
    values: list[ShareSnapshotValue | ShareUpdateValue | None], then: ShareProgress | None
) -> None:
    found: dict[tuple[str, UUID, int], ShareProgress] = {}
    for value in values:
        _take(found, ("g", ID, 0), value)
    assert found.get(("g", ID, 0)) == then


def test_values_field_by_field() -> None:
    batch = (5).to_bytes(8) + (6).to_bytes(8) + b"\2" + b"\0\3"
    value = (
        b"\0\0" + b"\0\0\0\1" + b"\0\0\0\2" + (9).to_bytes(8) + b"\2" + batch + b"\0" + b"\1\0\4\0\0\0\x0b"
    )
    entry = decode_share_state(b"\0\1" + KEY[2:], value)
    assert (entry.key.group_id, entry.key.topic_id, entry.key.partition) == ("g", ID, 2)
    assert entry.value == ShareUpdateValue(
        snapshot_epoch=1,
        leader_epoch=2,
        start_offset=9,
        state_batches=(StateBatch(first_offset=5, last_offset=6, delivery_state=2, delivery_count=3),),
        delivery_complete_count=11,
    )
    assert entry.notes == ()
    assert decode_share_state(KEY, None).value is None
    assert decode_share_state(KEY + b"!", None).notes == ("1 bytes more than ShareStateKey has",)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        (b"", b""),
        (b"\0", None),
        (b"\0\2" + KEY[2:], None),
        (KEY, b"\0"),
        (KEY, b"\0\1"),
        (KEY, b"\0\0\0"),
        (KEY[:9], None),
    ],
)
def test_what_is_none_of_these_is_refused(key: bytes, value: bytes | None) -> None:
    with pytest.raises(DecodeError):
        decode_share_state(key, value)
