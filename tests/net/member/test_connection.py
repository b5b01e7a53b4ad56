"""A connection to one broker: an answer that is none breaks it, whatever the codec makes of its bytes."""

import asyncio
from itertools import count
from pathlib import Path

import pytest

from kgroup.net.connect.login import Login
from kgroup.net.member.connection import OPEN, BrokenError, Connection, Exchange, Security
from tests.net.serve.secured import PASSWORD, USER, secured


class Silent:
    """A Watcher that nobody listens to."""

    def exchange(self, exchange: Exchange) -> None: ...

    def callback(self, callback: object) -> None: ...

    def committed(self, outcome: object) -> None: ...

    def failed(self, why: str) -> None: ...

    def stepped(self) -> None: ...


@pytest.mark.parametrize("body", [b"", b"\0", b"\0\0\x05", b"\0\0\xff\xff\xff\xff\x7f"])
def test_an_answer_that_ends_too_soon_is_named(body: bytes) -> None:
    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
        writer.write((4 + len(body)).to_bytes(4, "big") + frame[4:8] + body)
        await reader.read()  # until the other side has closed it
        writer.close()
        await writer.wait_closed()
        gone.set()

    gone = asyncio.Event()

    async def story() -> str:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        connection = Connection("broker", "c", Silent(), lambda: 7)
        with pytest.raises(BrokenError) as broken:
            await connection.open(host, port, OPEN)
        connection.close("the test is over")
        await gone.wait()
        server.close()
        return str(broken.value)

    assert asyncio.run(story()).startswith("broker: answer to ApiVersions v3: ")


def test_an_answer_to_nobodys_request_breaks_the_connection() -> None:
    """Kafka: NetworkClient throws a CorrelationIdMismatchException; what follows cannot be trusted either."""

    async def answer(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        frame = await reader.readexactly(int.from_bytes(await reader.readexactly(4), "big"))
        stale = (int.from_bytes(frame[4:8], "big") - 1).to_bytes(4, "big")
        writer.write((4).to_bytes(4, "big") + stale)
        await reader.read()  # until the other side has closed it
        writer.close()
        await writer.wait_closed()
        gone.set()

    gone = asyncio.Event()

    async def story() -> str:
        server = await asyncio.start_server(answer, "127.0.0.1", 0)
        host, port = server.sockets[0].getsockname()
        connection = Connection("broker", "c", Silent(), lambda: 7)
        with pytest.raises(BrokenError) as broken:
            await connection.open(host, port, OPEN)
        await gone.wait()
        server.close()
        return str(broken.value)

    assert asyncio.run(story()) == "broker answered a request that nobody made: correlation id 6"


class Noting(Silent):
    """A Watcher that keeps what it sees."""

    def __init__(self) -> None:
        self.seen: list[Exchange] = []

    def exchange(self, exchange: Exchange) -> None:
        self.seen.append(exchange)


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256"])
def test_who_watches_a_login_sees_that_it_was_and_no_secret(tmp_path: Path, mechanism: str) -> None:
    watcher, numbers = Noting(), count(1)

    async def story(host: str, port: int) -> None:
        connection = Connection("broker", "c", watcher, lambda: next(numbers))
        login = Login(
            {"sasl_mechanism": mechanism, "sasl_plain_username": USER, "sasl_plain_password": PASSWORD}
        )
        await connection.open(host, port, Security(login=login))
        connection.close("the test is over")

    with secured(tmp_path) as (kafka, _):
        host, _, port = kafka.bootstrap_of("SASL_PLAINTEXT").rpartition(":")
        asyncio.run(story(host, int(port)))
    of_login = [each for each in watcher.seen if each.api == "SaslAuthenticate"]
    assert {each.is_request for each in of_login} == {True, False}
    assert {(each.frame, each.body.auth_bytes) for each in of_login} == {(b"", b"")}
