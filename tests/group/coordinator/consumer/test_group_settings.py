"""Settings of single groups: what a lookup says holds from the next heartbeat on, and for one group."""

from dataclasses import replace
from uuid import UUID

import pytest

from kgroup.group.coordinator.coordinator import GroupCoordinator
from kgroup.group.coordinator.settings import GroupSettings
from kgroup.protocol.error_codes import ErrorCode as E
from tests.group.coordinator.consumer.world import GROUP, ConsumerWorld


class ConfiguredWorld(ConsumerWorld):
    """A group has the settings in `own`, by the fields of GroupSettings."""

    def __init__(self, **settings: int) -> None:
        self.own: dict[str, dict[str, int]] = {}
        super().__init__(**settings)

    def settings_of(self, group_id: str) -> GroupSettings:
        return replace(self.settings, **self.own.get(group_id, {}))  # type: ignore[arg-type]

    def loaded(self) -> GroupCoordinator:
        coordinator = GroupCoordinator(
            0, self.settings, lambda: str(UUID(int=next(self._uuids))), self.image, self.settings_of
        )
        for record in self.log:
            coordinator.apply(record)
        coordinator.loaded(self.now_ms)
        return coordinator


@pytest.fixture
def world() -> ConfiguredWorld:
    return ConfiguredWorld()


# A heartbeat without news is answered on a shorter way.
@pytest.mark.parametrize("news", [{}, {"rebalance_timeout_ms": 9_000}], ids=["no news", "news"])
def test_the_next_heartbeat_is_answered_with_the_new_interval(
    world: ConfiguredWorld, news: dict[str, int]
) -> None:
    assert world.join("m", "orders").heartbeat_interval_ms == 5_000
    world.own[GROUP] = {"consumer_heartbeat_interval_ms": 8_000}
    assert world.beat("m", **news).heartbeat_interval_ms == 8_000
    world.own = {"another": {"consumer_heartbeat_interval_ms": 9_000}}
    assert world.beat("m").heartbeat_interval_ms == 5_000


@pytest.mark.parametrize("news", [{}, {"rebalance_timeout_ms": 9_000}], ids=["no news", "news"])
def test_a_session_ends_earlier_from_the_next_heartbeat_on(
    world: ConfiguredWorld, news: dict[str, int]
) -> None:
    world.join("m", "orders")
    world.own[GROUP] = {"consumer_session_timeout_ms": 10_000}
    world.advance(44_000)
    assert world.beat("m", **news).error_code == E.NONE
    world.advance(9_999)
    assert world.beat("m").error_code == E.NONE
    world.advance(10_000)
    assert world.beat("m").error_code == E.UNKNOWN_MEMBER_ID


def test_a_node_that_takes_over_begins_with_the_groups_own_session(world: ConfiguredWorld) -> None:
    world.join("m", "orders")
    world.own[GROUP] = {"consumer_session_timeout_ms": 10_000}
    world.reload()
    world.advance(10_000)
    assert world.beat("m").error_code == E.UNKNOWN_MEMBER_ID


@pytest.mark.parametrize(("own_ms", "target_epoch"), [(None, 2), (0, 3)])
def test_a_group_has_its_own_interval_of_assignment(own_ms: int | None, target_epoch: int) -> None:
    """KIP-1263: with the broker's, the second member's assignment has to wait."""
    world = ConfiguredWorld(consumer_assignment_interval_ms=5_000)
    if own_ms is not None:
        world.own[GROUP] = {"consumer_assignment_interval_ms": own_ms}
    world.join("a", "orders")
    world.join("b", "orders")
    watched = world.coordinator.consumer.watched(GROUP)
    assert watched is not None
    assert (watched.assignment_epoch, watched.epoch) == (target_epoch, 3)
