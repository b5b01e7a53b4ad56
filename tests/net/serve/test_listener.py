"""A listening socket: where it is, who comes in, and who does not any more."""

import asyncio
import socket
from contextlib import ExitStack
from itertools import pairwise

import pytest

from kgroup.errors import SourceError
from kgroup.net.serve.listener import Listener


def unwarned(text: str) -> None:
    raise AssertionError(text)


async def greeting_from(port: int) -> bytes:
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    try:
        return await reader.read()
    finally:
        writer.close()


class Greeter(asyncio.Protocol):
    """Says hello and hangs up."""

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        assert isinstance(transport, asyncio.Transport)
        transport.write(b"hello")
        transport.close()


def test_each_connection_gets_a_protocol_of_its_own() -> None:
    made: list[Greeter] = []

    def greeter() -> Greeter:
        made.append(Greeter())
        return made[-1]

    async def story() -> list[bytes]:
        listener = Listener("127.0.0.1", 0, greeter, unwarned)
        listener.open()
        heard = [await greeting_from(listener.port), await greeting_from(listener.port)]
        listener.close()
        return heard

    assert asyncio.run(story()) == [b"hello", b"hello"]
    assert len(made) == 2


def test_closed_it_takes_nobody_and_opens_again_where_it_was() -> None:
    async def story() -> None:
        listener = Listener("127.0.0.1", 0, Greeter, unwarned)
        assert not listener.is_open
        listener.open()
        port = listener.port
        assert listener.is_open
        assert port > 0
        listener.close()
        assert not listener.is_open
        with pytest.raises(ConnectionRefusedError):
            await greeting_from(port)
        listener.open()
        assert listener.port == port
        assert await greeting_from(port) == b"hello"
        listener.close()

    asyncio.run(story())


def test_an_address_that_is_taken_is_named_with_what_to_do() -> None:
    async def story() -> None:
        first = Listener("127.0.0.1", 0, Greeter, unwarned)
        first.open()
        second = Listener("127.0.0.1", first.port, Greeter, unwarned)
        with pytest.raises(SourceError, match=rf"^cannot listen on 127\.0\.0\.1:{first.port}: .*--listen"):
            second.open()
        assert not second.is_open
        first.close()

    asyncio.run(story())


def test_of_many_who_come_at_once_only_some_come_in_before_others_have_their_turn() -> None:
    async def story() -> list[int]:
        made: list[Greeter] = []

        def greeter() -> Greeter:
            made.append(Greeter())
            return made[-1]

        listener = Listener("127.0.0.1", 0, greeter, unwarned)
        listener.open()
        with ExitStack() as stack:
            for _ in range(50):  # the loop does not turn meanwhile
                stack.enter_context(socket.create_connection(("127.0.0.1", listener.port)))
            counts = [0]
            while counts[-1] < 50:
                await asyncio.sleep(0)
                counts.append(len(made))
        listener.close()
        return counts

    counts = asyncio.run(story())
    assert max(after - before for before, after in pairwise(counts)) <= 8
