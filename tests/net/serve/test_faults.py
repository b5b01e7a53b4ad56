"""What `kgroup.testing` offers to authors of clients: faults on request, and a fixture."""

import threading

import pytest
from kafka.protocol.consumer.group import HeartbeatRequest
from kafka.protocol.metadata import FindCoordinatorRequest

import kgroup.testing
from kgroup.errors import InputError
from kgroup.testing import ErrorCode, kafka_cluster  # noqa: F401  # the fixture
from tests.net.wire_client import WireClient


def address(kafka: kgroup.testing.Cluster, node: int = 1) -> tuple[str, int]:
    host, _, port = kafka.bootstrap.split(",")[node - 1].rpartition(":")
    return host, int(port)


def heartbeat(group: str = "g") -> HeartbeatRequest:
    return HeartbeatRequest(version=3, group_id=group, generation_id=1, member_id="m")


def find(group: str = "g") -> FindCoordinatorRequest:
    return FindCoordinatorRequest(version=1, key=group, key_type=0)


def test_a_dropped_request_breaks_its_connection_only(kafka_cluster: kgroup.testing.Cluster) -> None:  # noqa: F811
    with WireClient(address(kafka_cluster)) as client, WireClient(address(kafka_cluster)) as other:
        fault = kafka_cluster.drop("Heartbeat")
        client.send(heartbeat())
        assert client.is_closed_by_peer()
        assert fault.hits == 1
        assert other.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_held_request_is_answered_after_its_release(kafka_cluster: kgroup.testing.Cluster) -> None:  # noqa: F811
    hold = kafka_cluster.hold("Heartbeat", client_id="slow")
    with (
        WireClient(address(kafka_cluster), "slow") as slow,
        WireClient(address(kafka_cluster), "quick") as quick,
    ):
        slow.send(heartbeat())
        slow.send(find())  # waits behind the one that is held
        assert quick.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        answers: list[int] = []
        waiting = threading.Thread(target=lambda: answers.extend(slow.receive().error_code for _ in range(2)))
        waiting.start()
        assert not answers
        kafka_cluster.release(hold)
        waiting.join(30)
        assert answers == [ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]


def test_a_refused_request_gets_the_chosen_error_and_the_next_its_own(
    kafka_cluster: kgroup.testing.Cluster,  # noqa: F811
) -> None:
    kafka_cluster.refuse("Heartbeat", ErrorCode.COORDINATOR_NOT_AVAILABLE, group="g")
    with WireClient(address(kafka_cluster)) as client:
        assert client.ask(heartbeat("other")).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert client.ask(heartbeat()).error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert client.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_delayed_request_is_answered_all_the_same(kafka_cluster: kgroup.testing.Cluster) -> None:  # noqa: F811
    fault = kafka_cluster.delay("Heartbeat", 0.01, times=None)
    with WireClient(address(kafka_cluster)) as client:
        assert client.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
        assert client.ask(heartbeat()).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert fault.hits == 2
    kafka_cluster.clear_faults()


def test_faults_that_cannot_be_are_refused(kafka_cluster: kgroup.testing.Cluster) -> None:  # noqa: F811
    with pytest.raises(InputError, match="no api is called 'Hartbeat'"):
        kafka_cluster.drop("Hartbeat")
    with pytest.raises(InputError, match="Metadata does not go to a group's coordinator"):
        kafka_cluster.refuse("Metadata", ErrorCode.NOT_COORDINATOR)


def test_bad_frames_close_only_their_own_connection(kafka_cluster: kgroup.testing.Cluster) -> None:  # noqa: F811
    with WireClient(address(kafka_cluster)) as good:
        for noise in (
            b"GET / HTTP/1.1\r\n\r\n",
            b"\x7f\xff\xff\xff",
            b"\xff\xff\xff\xfb",
            b"\0\0\0\x04\x7f\x7f\0\0",
        ):
            with WireClient(address(kafka_cluster)) as bad:
                bad.send_bytes(noise)
                assert bad.is_closed_by_peer()
        assert good.ask(find()).error_code == ErrorCode.NONE


def test_a_killed_node_hangs_up_and_a_started_one_is_back_at_its_address() -> None:
    with kgroup.testing.cluster(nodes=2) as kafka:
        where = address(kafka, 2)
        with WireClient(where) as client:
            kafka.kill_node(2)
            assert client.is_closed_by_peer()
        with pytest.raises(OSError):
            WireClient(where)
        kafka.start_node(2)
        with WireClient(where) as client:
            assert client.ask(find()).error_code == ErrorCode.NONE


async def use_async() -> str:
    async with kgroup.testing.cluster(topics={"orders": 2}) as kafka:
        return str(kafka.state()["topics"])


def test_it_works_in_async_with() -> None:
    import asyncio

    assert asyncio.run(use_async()) == "{'orders': 2}"
