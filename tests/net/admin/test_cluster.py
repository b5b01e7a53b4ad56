import os
import socket
import threading
from contextlib import ExitStack

import pytest
from kafka import KafkaConsumer, TopicPartition
from kafka.structs import OffsetAndMetadata

import kgroup.testing
from kgroup.errors import InputError, SourceError
from kgroup.log.files.entries import read_decoded
from kgroup.log.files.sources import open_sources
from kgroup.net.admin.cluster import ClassicState, Cluster
from kgroup.net.admin.raw_logs import copy_offsets_topic
from kgroup.net.connect.properties import ConnectionOptions, parse_servers
from kgroup.protocol.group_hash import OFFSETS_TOPIC, partition_for


def cluster_at(servers, *properties):
    return Cluster(ConnectionOptions(bootstrap_servers=servers, properties=properties))


@pytest.mark.parametrize(
    ("given", "servers"),
    [
        ("localhost", [("localhost", 9092)]),
        ("a:1, b:2,", [("a", 1), ("b", 2)]),
        ("[::1]:19092", [("::1", 19092)]),
        ("[::1]", [("::1", 9092)]),
    ],
)
def test_bootstrap_servers(given, servers):
    assert parse_servers(given) == servers


@pytest.mark.parametrize(
    ("given", "why"),
    [
        *((given, "give HOST:PORT") for given in ("", ",", "host:port", "a:1,b:x", ":9092")),
        *((given, "ports are 1 to 65535") for given in ("host:0", "host:70000")),
    ],
)
def test_what_is_no_host_and_port_is_refused(given, why):
    with pytest.raises(InputError, match=why):
        cluster_at(given)


def test_a_port_where_nobody_listens_is_named_with_the_reason():
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        server = f"127.0.0.1:{unused.getsockname()[1]}"
        with (
            pytest.raises(SourceError, match=f"no broker answers: {server}: Connection refused"),
            cluster_at(server),
        ):
            pass


@pytest.fixture
def closing_server():
    """Somebody who listens and closes every connection, as a listener with other security does."""
    listener = socket.create_server(("127.0.0.1", 0))

    def close_each():
        while True:
            try:
                listener.accept()[0].close()
            except OSError:
                return

    thread = threading.Thread(target=close_each)
    thread.start()
    yield f"127.0.0.1:{listener.getsockname()[1]}"
    listener.shutdown(socket.SHUT_RDWR)
    listener.close()
    thread.join()


@pytest.mark.parametrize("protocol", ["PLAINTEXT", "SSL"])
def test_a_listener_of_another_kind_is_told_with_what_to_look_at(closing_server, protocol, capfd):
    properties = ("request.timeout.ms=300", f"security.protocol={protocol}")
    with (
        pytest.raises(SourceError, match=f"{closing_server}: .*security.protocol is {protocol}"),
        cluster_at(closing_server, *properties),
    ):
        pass
    assert capfd.readouterr().err == ""


@pytest.fixture(scope="module")
def cluster():
    """A cluster with commits on it: kgroup's own, or a real one that KGROUP_TEST_BOOTSTRAP names."""
    with ExitStack() as stack:
        servers = os.environ.get("KGROUP_TEST_BOOTSTRAP")
        if servers is None:
            kafka = stack.enter_context(kgroup.testing.cluster(nodes=3, topics={"orders": 4}))
            servers = kafka.bootstrap
            consumer = KafkaConsumer(bootstrap_servers=servers, group_id="billing", enable_auto_commit=False)
            orders = TopicPartition("orders", 1)
            consumer.assign([orders])
            consumer.commit({orders: OffsetAndMetadata(0, "", -1)})
            consumer.close()
        yield stack.enter_context(cluster_at(servers))


def test_the_coordinator_is_the_leader_of_the_partition_that_the_rule_gives(cluster):
    groups = [f"kgroup-test-{i}" for i in range(20)]
    leaders = cluster.topics([OFFSETS_TOPIC])[OFFSETS_TOPIC].leaders
    answers = cluster.find_coordinators(groups)
    assert [answer.group for answer in answers] == groups
    for answer in answers:
        assert answer.error is None
        assert answer.node_id == leaders[partition_for(answer.group, len(leaders))]
        broker = cluster.brokers()[answer.node_id]
        assert (answer.host, answer.port) == (broker.host, broker.port)


def test_every_partition_with_a_leader_has_a_start_and_an_end(cluster):
    listing = cluster.log_listing()
    assert listing.complete
    assert {log.topic for log in listing.logs} == set(cluster.topics())
    assert all(0 <= log.log_start_offset <= log.log_end_offset for log in listing.logs)


def test_a_topic_that_does_not_exist_is_left_out_and_not_made(cluster):
    assert cluster.topics(["kgroup-no-such-topic"]) == {}
    assert "kgroup-no-such-topic" not in cluster.topics()


def test_a_group_that_does_not_exist_has_no_state(cluster):
    assert cluster.classic_state("kgroup-no-such-group") is None


@pytest.mark.skipif("KGROUP_TEST_BOOTSTRAP" in os.environ, reason="the other cluster has no such group")
def test_a_group_that_only_commits_is_empty(cluster):
    assert cluster.classic_state("billing") == ClassicState(state="Empty", members=0)


def test_a_copy_of_the_offsets_topic_ends_at_its_high_watermarks(cluster, tmp_path):
    ends = copy_offsets_topic(cluster, tmp_path)
    newest = {}
    for item in read_decoded(open_sources([tmp_path])):
        assert item.record.offset > newest.get(item.segment.partition, -1)
        newest[item.segment.partition] = item.record.offset
    assert newest == {partition: end - 1 for partition, end in ends.items() if end > 0}
