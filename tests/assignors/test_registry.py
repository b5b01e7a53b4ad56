"""Assignors by name."""

import pytest

from kgroup.assignors.registry import ASSIGNORS, CLIENT_ASSIGNORS, SERVER_ASSIGNORS, check_name
from kgroup.errors import InputError


def test_the_names_on_the_wire_are_kafkas():
    assert set(CLIENT_ASSIGNORS) == {"range", "roundrobin", "sticky", "cooperative-sticky"}
    assert set(SERVER_ASSIGNORS) == {"range", "uniform", "simple"}


@pytest.mark.parametrize("name", list(ASSIGNORS))
def test_every_assignor_is_a_clients_or_the_coordinators(name):
    entry = ASSIGNORS[name]
    assert (entry.client is None) != (entry.server is None)


@pytest.mark.parametrize(
    ("name", "nearest"),
    [("stiky", "sticky"), ("RoundRobin", "roundrobin"), ("cooperative_sticky", "cooperative-sticky")],
)
def test_an_unknown_name_suggests_the_nearest(name, nearest):
    with pytest.raises(InputError, match=f"did you mean {nearest}"):
        check_name(name)
