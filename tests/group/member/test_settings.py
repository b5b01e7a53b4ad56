"""Settings that cannot work together are refused before anything is sent."""

import pytest

from kgroup.errors import InputError
from kgroup.group.member.settings import MemberSettings


@pytest.mark.parametrize(
    ("settings", "why"),
    [
        ({"group_id": ""}, "may not be empty"),
        ({"group_id": "g", "group_instance_id": ""}, "may not be empty"),
        ({"group_id": None, "group_instance_id": "till-1"}, "group.instance.id needs a group.id"),
        ({"group_id": "g", "partition_assignment_strategy": ()}, "names no assignor"),
    ],
)
def test_what_cannot_work_is_named(settings: dict[str, object], why: str) -> None:
    with pytest.raises(InputError, match=why):
        MemberSettings(**settings)  # type: ignore[arg-type]


def test_a_join_may_take_as_long_as_the_slowest_member_and_five_seconds() -> None:
    assert MemberSettings(group_id="g", max_poll_interval_ms=300_000).join_timeout_ms == 305_000
    assert MemberSettings(group_id="g", max_poll_interval_ms=1_000).join_timeout_ms == 30_000
