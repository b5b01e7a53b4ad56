"""The effect of a topic's settings on the batches produced to it."""

import pytest

from kgroup.broker.settings import BrokerSettings
from kgroup.broker.topic_settings import batch_rules


@pytest.mark.parametrize(
    ("policy", "compacted"),
    [
        ("compact", True),
        ("compact,delete", True),
        (" delete, compact", True),
        ("delete", False),
        (None, False),
    ],
)
def test_a_topic_that_is_compacted_and_deleted_from_needs_keys_as_well(
    policy: str | None, compacted: bool
) -> None:
    """Kafka: cleanup.policy is a list, and LogConfig.compact whether compact is in it."""
    configs = {} if policy is None else {"cleanup.policy": policy}
    assert batch_rules(configs, BrokerSettings(), "orders-0").compacted is compacted
