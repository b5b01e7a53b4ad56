"""Every place that docs/then_and_now.md names is there, and its numbers are those of the code."""

import re
from importlib import import_module
from pathlib import Path

import pytest

from kgroup.group.coordinator.settings import GroupSettings
from kgroup.group.member.settings import MemberSettings
from kgroup.protocol.group_hash import java_hash_code, partition_for

PAGE = Path(__file__).parents[1] / "docs" / "then_and_now.md"
ROWS = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
PLACE = re.compile(r"^(?:[a-z_0-9]+\.)+[A-Za-z_.]+$")


def places() -> list[str]:
    """Of the last column: dotted names below kgroup; a bare name is one more of the class before it."""
    found = []
    for row in ROWS:
        before = ""
        for name in re.findall(r"`([^`]+)`", row.rsplit(" | ", 1)[1]):
            if PLACE.match(name):
                before = name
            elif re.fullmatch(r"_?[a-z_]+", name) and before:
                name = f"{before.rpartition('.')[0]}.{name}"  # noqa: PLW2901
            else:
                continue
            found.append(name)
    return list(dict.fromkeys(found))


def resolve(name: str) -> object:
    parts = name.split(".")
    for split in range(len(parts), 0, -1):
        try:
            thing: object = import_module(".".join(["kgroup", *parts[:split]]))
        except ModuleNotFoundError:
            continue
        for part in parts[split:]:
            thing = getattr(thing, part)
        return thing
    raise AssertionError(name)


@pytest.mark.parametrize("name", places())
def test_a_place_that_is_named_is_there(name: str) -> None:
    assert resolve(name) is not None


def test_most_rows_name_a_place() -> None:
    assert len(places()) > 45


def test_the_defaults_are_those_of_the_page() -> None:
    member, group = MemberSettings(group_id="g"), GroupSettings()
    assert (member.session_timeout_ms, member.heartbeat_interval_ms) == (45_000, 3_000)
    assert (group.min_session_timeout_ms, group.max_session_timeout_ms) == (6_000, 30 * 60_000)
    assert group.offsets_retention_ms == 7 * 24 * 3_600_000


def test_the_two_ways_to_take_the_absolute_value_differ_for_one_hash() -> None:
    smallest = "polygenelubricants"  # a string whose hash is -2147483648
    assert java_hash_code(smallest) == -(2**31)
    assert partition_for(smallest) == 0
    assert abs(-(2**31)) % 50 == 48  # Java's remainder has the sign of what is divided
