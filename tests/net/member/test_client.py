"""A member's requests on real connections, and what ends them."""

import asyncio

import pytest

from kgroup.group.member.settings import MemberSettings
from kgroup.group.member.step import Send, UseError
from kgroup.net.member.client import GroupMember
from kgroup.protocol.requests.client import FindCoordinator, Node
from tests.net.member.test_connection import Silent


class Listening(Silent):
    """Keeps the reasons why requests found no answer."""

    def __init__(self) -> None:
        self.failures: list[str] = []

    def failed(self, why: str) -> None:
        self.failures.append(why)


def test_a_request_that_waits_for_a_connection_to_open_hears_that_it_never_will() -> None:
    """Unheard, it would count as under way for ever, and never be sent again."""

    async def story() -> list[str]:
        accepted, over = asyncio.Event(), asyncio.Event()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.set()
            await over.wait()
            writer.close()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        watcher = Listening()
        node = Node(node_id=-1, host=host, port=port)
        member = GroupMember(MemberSettings(group_id="g"), [node], watcher)
        send = Send(
            request_id=0,
            connection_id=-1,
            host=host,
            port=port,
            timeout_ms=60_000,
            body=FindCoordinator(key="g"),
        )
        request = asyncio.create_task(member._send(send))
        await accepted.wait()
        member._drop(-1, "the broker did not answer in time")
        await asyncio.wait([request])
        assert not request.cancelled()
        over.set()
        server.close()
        await server.wait_closed()
        return watcher.failures

    [why] = asyncio.run(story())
    assert why.endswith(": closed before it had opened")


def test_a_second_task_is_refused_while_one_polls() -> None:
    """Kafka: KafkaConsumer.acquire, ConcurrentModificationException."""

    async def story() -> None:
        accepted, over = asyncio.Event(), asyncio.Event()

        async def accept(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
            accepted.set()
            await over.wait()
            writer.close()

        server = await asyncio.start_server(accept, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        node = Node(node_id=-1, host=host, port=port)
        member = GroupMember(MemberSettings(group_id="g"), [node], Silent())
        member.subscribe(["orders"])
        polling = asyncio.create_task(member.poll(60))
        await accepted.wait()
        for call in (member.poll(0), member.commit()):
            with pytest.raises(UseError, match="one at a time"):
                await call
        with pytest.raises(UseError, match="one at a time"):
            member.subscribe(["bills"])
        assert not polling.done()
        polling.cancel()
        await member.abandon()
        over.set()
        server.close()
        await server.wait_closed()

    asyncio.run(story())
