"""Topics that benchmarks make on the broker they measure."""

from kafka.protocol.admin import CreateTopicsRequest

from kgroup.net.admin.cluster import Cluster


def make_topic(cluster: Cluster, name: str, partitions: int) -> None:
    """A topic with one replica. Raises AssertionError with the broker's answer if it does not make it."""
    topic = CreateTopicsRequest.CreatableTopic(
        name=name, num_partitions=partitions, replication_factor=1, assignments=[], configs=[]
    )
    answer = cluster.ask(CreateTopicsRequest(topics=[topic], timeout_ms=30_000, validate_only=False), 1)
    assert answer.topics[0].error_code == 0, answer
