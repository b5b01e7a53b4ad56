"""`groups`, `describe` and `compat` by every way in, and how they are refused: one line, status 1."""

import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path
from types import SimpleNamespace

import pytest

import kgroup.testing
from tests.net.serve.certificates import Certificates, make_certificates
from tests.net.serve.secured import MODES, PASSWORD, USER, java, listener, secured
from tests.net.serve.test_own_commands import run
from tests.net.usual_groups import commit

Secured = tuple[kgroup.testing.Cluster, Certificates]
BY_PASSWORD = "SCRAM-SHA-512"
ACLS = f"""
allow User:{USER} DESCRIBE topic orders
allow User:{USER} DESCRIBE group billing
"""
CALLS = (("groups",), ("describe", "billing"), ("describe", "--all", "--state"), ("lag",))


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """alice may see group billing and topic orders; group secret is none of her business."""
    folder = tmp_path_factory.mktemp("secured")
    (folder / "acls").write_text(ACLS, encoding="utf-8")
    more = {
        "kgroup.acls.file": str(folder / "acls"),
        "super.users": "User:ANONYMOUS",
        "connection.failed.authentication.delay.ms": "0",
    }
    with secured(folder, more=more) as running:
        door = SimpleNamespace(bootstrap=running[0].bootstrap_of("PLAINTEXT"))
        commit(door, "billing", [1, 2])
        commit(door, "secret", [3])
        yield running


def line(
    cluster: Secured, mode: str, *arguments: str, folder: Path, config: dict[str, str] | None = None
) -> list[str]:
    """A command line with a file of the mode's properties."""
    kafka, certificates = cluster
    settings = (java(mode, certificates) if config is None else config).items()
    path = folder / "client.properties"
    path.write_text("".join(f"{name}={value}\n".replace("\\", "\\\\") for name, value in settings))
    option = "--bootstrap-server" if arguments[0] == "compat" else "-b"
    servers = kafka.bootstrap_of(listener(mode))
    return [sys.executable, "-m", "kgroup", *arguments, option, servers, "--command-config", str(path)]


@pytest.mark.parametrize("mode", [mode for mode in MODES if "SCRAM" in mode or mode == "PLAIN"])
def test_a_user_sees_the_groups_that_are_his(cluster: Secured, mode: str, tmp_path: Path) -> None:
    status, out, errors = run(line(cluster, mode, "groups", "-q", "-o", "jsonl", folder=tmp_path))
    assert (status, errors) == (0, "")
    assert [json.loads(row)["group"] for row in out.splitlines()] == ["billing"]


def test_a_group_that_he_may_not_describe_is_one_line(cluster: Secured, tmp_path: Path) -> None:
    call = line(cluster, BY_PASSWORD, "describe", "secret", folder=tmp_path)
    status, out, errors = run(call)
    assert (status, out) == (1, "")
    assert errors.endswith(": group secret: no coordinator: GROUP_AUTHORIZATION_FAILED\n")
    assert len(errors.splitlines()) == 1


def test_compat_says_so_in_the_words_of_the_tool(cluster: Secured, tmp_path: Path) -> None:
    """As kafka-consumer-groups 4.3.1 printed it, tried on this server."""
    status, out, _ = run(
        line(cluster, BY_PASSWORD, "compat", "--describe", "--group", "secret", folder=tmp_path)
    )
    assert (status, out) == (
        0,
        "\nError: Executing consumer group command failed due to"
        " org.apache.kafka.common.errors.GroupAuthorizationException: FindCoordinator request for groupId"
        " `CoordinatorKey(idValue='secret', type=GROUP)` failed due to authorization failure\n",
    )


@pytest.mark.parametrize("call", [*CALLS, ("compat", "--list")], ids=" ".join)
def test_a_wrong_password_is_one_line(cluster: Secured, call: tuple[str, ...], tmp_path: Path) -> None:
    wrong = java(BY_PASSWORD, cluster[1], password="wr0ng")
    status, out, errors = run(line(cluster, BY_PASSWORD, *call, folder=tmp_path, config=wrong))
    assert (status, out, len(errors.splitlines())) == (1, "", 1)
    assert "Authentication failed" in errors and "wr0ng" not in errors and PASSWORD not in errors


@pytest.mark.parametrize("call", [*CALLS, ("compat", "--list")], ids=" ".join)
def test_an_authority_that_nobody_trusts_is_one_line(
    cluster: Secured, call: tuple[str, ...], tmp_path: Path
) -> None:
    others = make_certificates(tmp_path / "others")
    untrusted = java(BY_PASSWORD, others)
    status, out, errors = run(line(cluster, BY_PASSWORD, *call, folder=tmp_path, config=untrusted))
    assert (status, out, len(errors.splitlines())) == (1, "", 1)
    assert "certificate" in errors


@pytest.mark.parametrize("call", [*CALLS, ("compat", "--list")], ids=" ".join)
def test_who_does_not_answer_is_given_up_within_the_time(call: tuple[str, ...], tmp_path: Path) -> None:
    """A listener that accepts and says nothing, as a firewall's black hole looks from here."""
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = f"127.0.0.1:{silent.getsockname()[1]}"
        option = "--bootstrap-server" if call[0] == "compat" else "-b"
        limit = ("--timeout", "300") if call[0] == "compat" else ("-X", "request.timeout.ms=300")
        status, out, errors = run([sys.executable, "-m", "kgroup", *call, option, address, *limit])
    assert (status, out) == (1, "")
    assert errors.startswith(f"kgroup: no broker answers: {address}: no answer in 0.3 s;")
    assert len(errors.splitlines()) == 1
