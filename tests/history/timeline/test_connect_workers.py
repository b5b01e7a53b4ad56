"""Connect workers whose leader has read less of the config topic than another one, again and again."""

import struct
from dataclasses import replace

from kgroup.history.timeline.model import Pattern
from kgroup.protocol.records.values import MemberMetadata
from tests.history.group_log import GroupLog, member

MISMATCH = 1
URL = struct.pack(">h", 8) + b"http://w"


def worker(name: str, *, read_to: int, error: int, version: int = 2) -> MemberMetadata:
    """A worker as Connect's protocols have it; versions above 0 may end before what they do not need."""
    return replace(
        member(name, client=f"connect-{name}"),
        subscription=struct.pack(">h", version) + URL + struct.pack(">q", read_to),
        assignment=struct.pack(">hhh", version, error, 1) + b"a" + URL + struct.pack(">qi", 47, 0),
    )


def patterns(
    *rounds: tuple[int, int, int], version: int = 2, protocol_type: str = "connect"
) -> list[Pattern]:
    """Of generations of two workers, each with its error and how far the leader and the other had read."""
    log = GroupLog()
    for number, (error, leader, other) in enumerate(rounds, start=1):
        workers = (
            worker("a", read_to=leader, error=error, version=version),
            worker("b", read_to=other, error=error, version=version),
        )
        log.generation(60 * number, number, *workers, protocol="sessioned", protocol_type=protocol_type)
    return [each for each in log.timeline().patterns if each.name == "connect-config-behind"]


def test_a_leader_that_stays_behind_is_named_with_both_offsets() -> None:
    for version in (0, 1, 2):
        (found,) = patterns((0, 41, 41), *[(MISMATCH, 41, 47)] * 3, (0, 47, 47), version=version)
        assert (found.first_generation, found.last_generation, found.member_ids) == (2, 4, ("a-id",))
        assert found.evidence == (
            "3 generations in a row in 2m 0s in which no worker got work (CONFIG_MISMATCH): the leader,"
            " connect-a on 10.0.0.1, has read the config topic to offset 41, connect-b on 10.0.0.1 to 47"
        )


def test_a_leader_that_catches_up_is_not_behind() -> None:
    late = [(MISMATCH, 41, 47)] * 2
    assert patterns(*late, (0, 47, 47), *late, (0, 49, 49)) == []


def test_workers_that_differ_and_are_given_work_are_well() -> None:
    assert patterns(*[(0, 47, 41)] * 5) == []


def test_who_reads_furthest_is_not_named_as_the_one_behind() -> None:
    (found,) = patterns(*[(MISMATCH, 47, 41)] * 3)
    assert found.evidence.endswith("(CONFIG_MISMATCH)")


def test_bytes_of_others_are_not_read_as_connects() -> None:
    assert patterns(*[(MISMATCH, 41, 47)] * 5, protocol_type="consumer") == []
    log = GroupLog()
    for number in range(1, 6):
        log.generation(60 * number, number, member("a", 0), protocol_type="connect")
    assert "connect-config-behind" not in [each.name for each in log.timeline().patterns]
