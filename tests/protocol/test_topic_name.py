"""Which names a topic can have (org.apache.kafka.common.internals.Topic.validate)."""

import pytest

from kgroup.protocol.topic_name import is_topic_name


@pytest.mark.parametrize("name", ["a", "...", "a.b_c-D9", "x" * 249])
def test_a_name_for_a_topic(name: str) -> None:
    assert is_topic_name(name)


@pytest.mark.parametrize(
    "name", ["", ".", "..", "x" * 250, "a b", "a/b", "a\\b", "a:b", "a\n", "\0", "é", "²"]
)
def test_no_name_for_a_topic(name: str) -> None:
    assert not is_topic_name(name)
