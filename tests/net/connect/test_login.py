"""A member behind a listener that asks for a login: with the right secret it gets in, and tells nobody."""

import asyncio
import json
import sys
from collections.abc import Sequence

import pytest

import kgroup.testing
from tests.net.sasl_gate import API_VERSIONS, gate_to

SECRET = "wonder,land="
JAAS = 'org.x.LoginModule required username="{}" password="{}";'


async def join(
    port: int, mechanism: str, user: str, password: str, *options: str, until: str = "assigned"
) -> tuple[int, str, str]:
    """`kgroup join` until it tells of an event or api, or ends: exit status, standard output and error."""
    process = await asyncio.create_subprocess_exec(
        *(sys.executable, "-m", "kgroup", "join", "-b", f"127.0.0.1:{port}", "--group", "g"),
        *("--topic", "orders", "-o", "jsonl", "-X", "security.protocol=SASL_PLAINTEXT"),
        *("-X", f"sasl.mechanism={mechanism}", "-X", f"sasl.jaas.config={JAAS.format(user, password)}"),
        *options,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.PIPE,
    )
    assert process.stdout is not None and process.stderr is not None
    lines = []
    async for line in process.stdout:
        lines.append(line.decode())
        event = json.loads(line)
        if until in (event["event"], event.get("api")):
            process.terminate()
    errors = (await process.stderr.read()).decode()
    return await process.wait(), "".join(lines), errors


def events(said: str) -> Sequence[str]:
    return [json.loads(line)["event"] for line in said.splitlines()]


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_a_member_logs_in_on_each_connection_and_joins(mechanism: str) -> None:
    async def story() -> None:
        with kgroup.testing.cluster(topics={"orders": 2}) as kafka:
            async with gate_to(kafka, mechanism) as (gate, port):
                status, said, errors = await join(port, mechanism, "alice", SECRET, "--trace", until="FETCH")
        assert (status, errors) == (0, "")
        assert events(said)[-1] == "left"
        assert len(gate.logins) >= 3  # bootstrap, the node, and the coordinator's own connection
        assert set(gate.logins) == {"alice"}
        traced = [json.loads(line) for line in said.splitlines()]
        logins = [each for each in traced if each.get("api") == "SASL_AUTHENTICATE"]
        assert logins and all(each["bytes"] == "" and each["body"]["auth_bytes"] == "" for each in logins)
        assert SECRET not in said and SECRET.encode().hex() not in said

    asyncio.run(story())


@pytest.mark.parametrize(
    ("offered", "mechanism", "user", "password", "why"),
    [
        ("PLAIN", "PLAIN", "alice", "wrong", "PLAIN login refused: Authentication failed: Invalid username"),
        ("SCRAM-SHA-256", "SCRAM-SHA-256", "alice", "wrong", "login refused: Authentication failed during"),
        ("SCRAM-SHA-512", "SCRAM-SHA-512", "mallory", SECRET, "login refused: Authentication failed during"),
        ("PLAIN", "SCRAM-SHA-256", "alice", SECRET, "no sasl.mechanism=SCRAM-SHA-256 here; there is PLAIN"),
    ],
)
def test_who_is_refused_hears_why_and_does_not_try_again(
    offered: str, mechanism: str, user: str, password: str, why: str
) -> None:
    async def story() -> None:
        with kgroup.testing.cluster(topics={"orders": 2}) as kafka:
            async with gate_to(kafka, offered) as (gate, port):
                status, said, errors = await join(port, mechanism, user, password)
        assert status == 1
        [line] = errors.splitlines()
        assert line.startswith(f"kgroup: 127.0.0.1:{port}: ") and why in line
        assert not gate.logins and not said

    asyncio.run(story())


@pytest.mark.parametrize(
    ("mechanism", "password", "why"),
    [
        (
            "PLAIN",
            "wrong",
            "PLAIN login refused: Authentication failed: Invalid username or password; see sasl.jaas.config",
        ),
        (
            "SCRAM-SHA-256",
            SECRET,
            "no sasl.mechanism=SCRAM-SHA-256 here; there is PLAIN; see sasl.mechanism and security.protocol",
        ),
    ],
)
def test_commands_that_only_ask_hear_why_too(mechanism: str, password: str, why: str) -> None:
    async def story() -> None:
        with kgroup.testing.cluster() as kafka:
            async with gate_to(kafka, "PLAIN") as (_, port):
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "kgroup", "find-coordinator", "g", "-b", f"127.0.0.1:{port}"),
                    *("-X", "security.protocol=SASL_PLAINTEXT", "-X", f"sasl.mechanism={mechanism}"),
                    *("-X", f"sasl.jaas.config={JAAS.format('alice', password)}"),
                    *("-X", "request.timeout.ms=1000"),
                    stderr=asyncio.subprocess.PIPE,
                )
                _, errors = await process.communicate()
        assert errors.decode() == f"kgroup: 127.0.0.1:{port}: {why}\n"
        assert process.returncode == 1

    asyncio.run(story())


def test_a_broker_that_does_not_know_the_secret_is_not_believed() -> None:
    """RFC 5802: it could not make the signature that the client expects."""

    async def story() -> None:
        with kgroup.testing.cluster(topics={"orders": 2}) as kafka:
            async with gate_to(kafka, "SCRAM-SHA-256", answers_wrongly=True) as (_, port):
                status, _, errors = await join(port, "SCRAM-SHA-256", "alice", SECRET)
        assert status == 1
        assert "SCRAM-SHA-256 login: Server sent wrong signature" in errors

    asyncio.run(story())


def test_a_listener_that_asks_for_no_login_is_named() -> None:
    async def story() -> None:
        with kgroup.testing.cluster(topics={"orders": 2}) as kafka:
            port = int(kafka.bootstrap.rpartition(":")[2])
            status, _, errors = await join(port, "PLAIN", "alice", SECRET)
        assert status == 1
        assert "this listener asks for no login (ILLEGAL_SASL_STATE)" in errors

    asyncio.run(story())


def test_the_gate_lets_nobody_in_without_a_login() -> None:
    """Else the tests above would prove nothing."""

    async def story() -> None:
        with kgroup.testing.cluster(topics={"orders": 2}) as kafka:
            async with gate_to(kafka, "PLAIN") as (gate, port):
                process = await asyncio.create_subprocess_exec(
                    *(sys.executable, "-m", "kgroup", "join", "-b", f"127.0.0.1:{port}", "--group", "g"),
                    *("--topic", "orders", "--for", "1s"),
                    stdout=asyncio.subprocess.PIPE,
                    stderr=asyncio.subprocess.PIPE,
                )
                said, errors = await process.communicate()
        assert b"assigned" not in said
        assert b"closed the connection" in errors
        assert gate.refused_apis and API_VERSIONS not in gate.refused_apis

    asyncio.run(story())
