"""Settings of single groups that nobody reads: by kind of group, and on what real brokers of 4.3.1 had."""

import shutil
from dataclasses import replace
from pathlib import Path

import pytest

from kgroup.api.advise import advise
from kgroup.api.opened import open_logs
from kgroup.history.advise.own_settings import without_effect
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Grade, Timeline
from tests.history.group_log import GroupLog, member

FIXTURES = Path(__file__).parents[3] / "fixtures"
SET = {
    "consumer.session.timeout.ms": "50000",
    "share.record.lock.duration.ms": "20000",
    "streams.num.standby.replicas": "1",
}


def timeline(kind: GroupKind) -> Timeline:
    """A group with one generation of this kind."""
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    made = log.timeline()
    [generation] = made.generations
    return replace(made, generations=(replace(generation, roster=replace(generation.roster, kind=kind)),))


@pytest.mark.parametrize(
    ("kind", "names"),
    [
        (GroupKind.CLASSIC, list(SET)),
        (GroupKind.CONSUMER, ["share.record.lock.duration.ms", "streams.num.standby.replicas"]),
        (GroupKind.SHARE, ["consumer.session.timeout.ms", "streams.num.standby.replicas"]),
        (GroupKind.STREAMS, ["consumer.session.timeout.ms", "share.record.lock.duration.ms"]),
    ],
)
def test_each_kind_reads_its_own_and_a_classic_group_none(kind: GroupKind, names: list[str]) -> None:
    advice = list(without_effect(timeline(kind), SET))
    assert [(piece.setting, piece.now, piece.grade) for piece in advice] == [
        (name, SET[name], Grade.RECORDED) for name in names
    ]
    assert all(f"it is a {kind} group" in piece.evidence for piece in advice)
    later = {piece.setting for piece in advice if piece.caution is not None}
    assert later == ({"consumer.session.timeout.ms"} if kind is GroupKind.CLASSIC else set())


def test_where_nothing_is_set_or_no_kind_is_known_nothing_is_said() -> None:
    assert list(without_effect(timeline(GroupKind.CLASSIC), {})) == []
    assert list(without_effect(replace(timeline(GroupKind.CLASSIC), generations=()), SET)) == []


def test_a_brokers_own_log_tells_what_is_set() -> None:
    """Of the four groups that have settings, `plain` has its own kind's, and `nobody` is no group."""
    with open_logs(FIXTURES / "group_settings") as logs:
        advice = [piece for piece in advise(logs) if "without effect" in piece.evidence]
    assert [(piece.group, piece.setting, piece.now) for piece in advice] == [
        ("billing", "share.session.timeout.ms", "50000"),
        ("billing-classic", "consumer.heartbeat.interval.ms", "900"),
        ("billing-classic", "streams.num.standby.replicas", "1"),
    ]


def test_settings_that_are_read_are_none_to_speak_of() -> None:
    """Two share groups of this capture have share.auto.offset.reset."""
    with open_logs(FIXTURES / "4.3.1" / "lives") as logs:
        assert list(advise(logs, "share-queue*")) == []


def test_a_damaged_metadata_log_is_a_remark(tmp_path: Path) -> None:
    folder = tmp_path / "logs"
    shutil.copytree(FIXTURES / "group_settings", folder)
    [log] = (folder / "__cluster_metadata-0").glob("*.log")
    log.write_bytes(log.read_bytes()[:-3])
    with open_logs(folder) as logs:
        advised = advise(logs)
    assert not [piece for piece in advised if "without effect" in piece.evidence]
    [remark] = [remark for remark in advised.remarks if "__cluster_metadata-0" in remark]
    assert remark.endswith("settings of groups are not known")
