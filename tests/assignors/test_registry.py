"""Assignors by name."""

import pytest

from kgroup.assignors.registry import ASSIGNORS, CLIENT_ASSIGNORS, SERVER_ASSIGNORS, find_names
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
        find_names([name])


def test_an_older_kafka_has_its_own_assignors():
    assert find_names(["sticky"], "2.4.1") == ["sticky@2.4"]
    assert find_names(["sticky"], "3.9") == find_names(["sticky"]) == ["sticky"]
    with pytest.raises(InputError, match=r"'uniform': Kafka 2\.4 has none"):
        find_names(["uniform"], "2.4")
    with pytest.raises(InputError, match=r"Kafka 0\.10"):
        find_names(["range"], "0.10")
