"""Every command that asks or changes groups, where it is not let in: one line, status 1, nothing done."""

import json
import socket
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from types import SimpleNamespace

import pytest

import kgroup.testing
from kgroup.net.admin.cluster import Cluster
from kgroup.net.connect.properties import ConnectionOptions
from tests.cli.conftest import Kgroup
from tests.cli.operations.conftest import member
from tests.net.serve.certificates import Certificates, make_certificates
from tests.net.serve.secured import USER, java, listener, secured
from tests.net.usual_groups import commit

Secured = tuple[kgroup.testing.Cluster, Certificates]
BY_PASSWORD = "SCRAM-SHA-512"
ACLS = f"""
allow User:{USER} DESCRIBE group seen
allow User:{USER} DESCRIBE group seen-2
allow User:{USER} DESCRIBE group seen-3
allow User:{USER} DESCRIBE topic orders
"""
LIMIT = "request.timeout.ms=300"
COMMANDS = {
    "groups": ("groups",),
    "describe": ("describe", "billing"),
    "describe --all": ("describe", "--all", "--members"),
    "reset-offsets": ("reset-offsets", "billing", "--topic", "orders", "--to-earliest", "--execute"),
    "--from-group": ("reset-offsets", "billing", "--from-group", "audit", "--execute"),
    "--from-file": ("reset-offsets", "billing", "--from-file", "{folder}/plan.csv", "--execute"),
    "--to-before": ("reset-offsets", "billing", "--to-before", "rewound", "--execute"),
    "--undo": ("reset-offsets", "--undo", "{folder}/some.undo", "--execute"),
    "copy-offsets": ("copy-offsets", "billing", "audit", "--execute"),
    "delete": ("delete", "billing", "--execute"),
    "delete-offsets": ("delete-offsets", "billing", "--topic", "orders", "--execute"),
    "remove-members": ("remove-members", "billing", "--all", "--execute"),
    "offsets-topic": ("offsets-topic",),
    "diff": ("diff", "fixtures/4.3.1/lives"),
}
"""`fsck` is missing: it reads files only."""


@pytest.fixture(scope="module")
def cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Secured]:
    """alice may see topic orders and the groups seen, and no other; nobody who fails to log in waits."""
    folder = tmp_path_factory.mktemp("secured")
    (folder / "acls").write_text(ACLS, encoding="utf-8")
    more = {
        "kgroup.acls.file": str(folder / "acls"),
        "super.users": "User:ANONYMOUS",
        "connection.failed.authentication.delay.ms": "0",
    }
    with secured(folder, more=more) as running:
        door = SimpleNamespace(bootstrap=running[0].bootstrap_of("PLAINTEXT"))
        for group in ("billing", "audit", "seen", "seen-2"):
            commit(door, group, [0, 0])
        yield running


@pytest.fixture(scope="module")
def untrusted(tmp_path_factory: pytest.TempPathFactory) -> Certificates:
    return make_certificates(tmp_path_factory.mktemp("others"))


@pytest.fixture
def files(tmp_path: Path, cluster: Secured) -> Path:
    """What the command lines name: a plan, and the undo file of a change on this cluster."""
    (tmp_path / "plan.csv").write_text("orders,0,0\n")
    with Cluster(ConnectionOptions(bootstrap_servers=cluster[0].bootstrap_of("PLAINTEXT"))) as opened:
        cluster_id = opened.cluster_id()
    head = {
        "format": "kgroup-undo/1",
        "command": "reset-offsets",
        "cluster_id": cluster_id,
        "bootstrap_servers": "kafka:9092",
        "created_ms": 1,
        "groups": {"billing": True},
    }
    old = {"offset": 0, "leader_epoch": -1, "metadata": ""}
    plan = [
        {"step": 0, "kind": "commit", "group": "billing"},
        {"topic": "orders", "partition": 0, "old": old, "new": old | {"offset": 9}},
        {"planned": 1, "changes": 1},
        {"begun": 0},
        {"applied": 0, "failed": []},
    ]
    (tmp_path / "some.undo").write_text("".join(json.dumps(line) + "\n" for line in [head, *plan]))
    return tmp_path


def arguments(command: str, files: Path) -> list[str]:
    return [word.format(folder=files) for word in COMMANDS[command]]


def login(cluster: Secured, files: Path, config: dict[str, str]) -> list[str]:
    """Where the TLS + SASL listener is, and how to log in."""
    path = files / "client.properties"
    path.write_text("".join(f"{name}={value}\n".replace("\\", "\\\\") for name, value in config.items()))
    return ["-b", cluster[0].bootstrap_of(listener(BY_PASSWORD)), "--command-config", str(path)]


def one_line(ended: object, undo_folder: Path) -> str:
    """The line that was said; nothing else was, and nothing was made ready to be changed."""
    status, out, errors = ended.status, ended.out, ended.err  # type: ignore[attr-defined]
    assert (status, out, len(errors.splitlines())) == (1, "", 1), errors
    assert not undo_folder.exists()
    return str(errors)


@pytest.mark.parametrize("command", COMMANDS)
def test_a_wrong_password(
    cluster: Secured, kgroup: Kgroup, files: Path, undo_folder: Path, command: str
) -> None:
    wrong = login(cluster, files, java(BY_PASSWORD, cluster[1], password="wr0ng"))
    said = one_line(kgroup(*arguments(command, files), *wrong), undo_folder)
    assert "Authentication failed" in said and "wr0ng" not in said


@pytest.mark.parametrize("command", COMMANDS)
def test_an_unknown_authority(
    cluster: Secured,
    untrusted: Certificates,
    kgroup: Kgroup,
    files: Path,
    undo_folder: Path,
    command: str,
) -> None:
    strange = login(cluster, files, java(BY_PASSWORD, untrusted))
    said = one_line(kgroup(*arguments(command, files), *strange), undo_folder)
    assert "certificate" in said and "see ssl.truststore.location" in said


@pytest.mark.parametrize("command", COMMANDS)
def test_a_refused_connection(kgroup: Kgroup, files: Path, undo_folder: Path, command: str) -> None:
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))  # and nobody listens
        server = f"127.0.0.1:{unused.getsockname()[1]}"
        said = one_line(kgroup(*arguments(command, files), "-b", server), undo_folder)
    hint = "is this the host and port of a broker that is up?"
    assert said == f"kgroup: no broker answers: {server}: Connection refused; {hint}\n"


@pytest.fixture
def black_hole() -> Iterator[str]:
    """An address that drops what is sent to it: the queue of those that want to connect is full."""
    with ExitStack() as stack:
        silent = stack.enter_context(socket.socket())
        silent.bind(("127.0.0.1", 0))
        silent.listen(0)
        for _ in range(4):
            waiting = stack.enter_context(socket.socket())
            waiting.setblocking(False)
            waiting.connect_ex(silent.getsockname())
        yield f"127.0.0.1:{silent.getsockname()[1]}"


@pytest.mark.skipif(sys.platform != "linux", reason="elsewhere a full queue refuses")
@pytest.mark.parametrize("command", COMMANDS)
def test_a_black_hole_is_given_up_within_the_time(
    kgroup: Kgroup, files: Path, undo_folder: Path, black_hole: str, command: str
) -> None:
    ended = kgroup(*arguments(command, files), "-b", black_hole, "-X", LIMIT)
    assert f"no broker answers: {black_hole}: no answer in 0.3 s" in one_line(ended, undo_folder)


WITHOUT_RIGHTS = {
    "describe": "group billing: no coordinator: GROUP_AUTHORIZATION_FAILED",
    "reset-offsets": "cannot describe group 'billing': no coordinator: GROUP_AUTHORIZATION_FAILED",
    "--from-group": "no coordinator for group 'audit': GROUP_AUTHORIZATION_FAILED",
    "--from-file": "cannot describe group 'billing': no coordinator: GROUP_AUTHORIZATION_FAILED",
    "--to-before": "TOPIC_AUTHORIZATION_FAILED",
    "--undo": "no coordinator for group 'billing': GROUP_AUTHORIZATION_FAILED",
    "copy-offsets": "cannot describe group 'billing': no coordinator: GROUP_AUTHORIZATION_FAILED",
    "delete": "cannot describe group 'billing': no coordinator: GROUP_AUTHORIZATION_FAILED",
    "delete-offsets": "cannot describe group 'billing': no coordinator: GROUP_AUTHORIZATION_FAILED",
    "remove-members": "cannot describe group 'billing': no coordinator: GROUP_AUTHORIZATION_FAILED",
    "offsets-topic": "TOPIC_AUTHORIZATION_FAILED",
    "diff": "TOPIC_AUTHORIZATION_FAILED",
}
"""`groups` and `describe --all` are missing: by Kafka's rule a list has the groups that the user may see."""


@pytest.mark.parametrize("command", WITHOUT_RIGHTS)
def test_a_user_without_the_right(
    cluster: Secured, kgroup: Kgroup, files: Path, undo_folder: Path, command: str
) -> None:
    alice = login(cluster, files, java(BY_PASSWORD, cluster[1]))
    said = one_line(kgroup(*arguments(command, files), *alice), undo_folder)
    assert said.endswith(f": {WITHOUT_RIGHTS[command]}\n")


CHANGES = {
    "reset-offsets": ("reset-offsets", "seen", "--topic", "orders", "--to-earliest"),
    "copy-offsets": ("copy-offsets", "seen", "seen-2"),
    "delete": ("delete", "seen"),
    "delete-offsets": ("delete-offsets", "seen", "--topic", "orders"),
}


@pytest.mark.parametrize("command", CHANGES)
def test_a_user_who_may_see_a_group_and_not_change_it(
    cluster: Secured, kgroup: Kgroup, files: Path, command: str
) -> None:
    """The plan is his to see; the change is refused, and its undo has nothing to do."""
    alice = login(cluster, files, java(BY_PASSWORD, cluster[1]))
    assert kgroup(*CHANGES[command], *alice).status == 0
    undo = files / "of-change.undo"
    ended = kgroup(*CHANGES[command], *alice, "--execute", "-q", "--undo-file", str(undo))
    assert ended.status == 1
    told, said = ended.err.splitlines()
    assert told == f"kgroup: undo file: {undo}"
    assert said.startswith("kgroup: nothing was done (2 refused): ")
    assert said.endswith("GROUP_AUTHORIZATION_FAILED")
    undone = kgroup("reset-offsets", *alice, "--undo", str(undo), "--execute")
    assert (undone.status, undone.out) == (0, "")
    assert undone.err.endswith("kgroup: nothing is to be done\n")


def test_members_of_a_group_that_one_may_only_see_stay(cluster: Secured, kgroup: Kgroup, files: Path) -> None:
    alice = login(cluster, files, java(BY_PASSWORD, cluster[1]))
    with member(cluster[0].bootstrap_of("PLAINTEXT"), "seen-3"):
        ended = kgroup("remove-members", "seen-3", "--all", *alice, "--execute", "-q")
    assert (ended.status, len(ended.err.splitlines())) == (1, 1)
    assert ended.err.startswith("kgroup: 1 of 1 member not taken out: ")
    assert ended.err.endswith(": GROUP_AUTHORIZATION_FAILED\n")


@pytest.mark.parametrize("problem", ["refused", "password", "authority"])
def test_the_other_cluster_of_a_copy(
    cluster: Secured, untrusted: Certificates, kgroup: Kgroup, files: Path, undo_folder: Path, problem: str
) -> None:
    """The first one lets us in; the one that is to get the offsets does not."""
    configs = {
        "refused": {},
        "password": java(BY_PASSWORD, cluster[1], password="wr0ng"),
        "authority": java(BY_PASSWORD, untrusted),
    }
    expected = {
        "refused": "Connection refused",
        "password": "Authentication failed",
        "authority": "certificate",
    }
    other, _, config = login(cluster, files, configs[problem])[1:]
    with socket.socket() as unused:
        unused.bind(("127.0.0.1", 0))
        if problem == "refused":
            other = f"127.0.0.1:{unused.getsockname()[1]}"
        line = ["copy-offsets", "billing", "audit", "-b", cluster[0].bootstrap_of("PLAINTEXT"), "--execute"]
        ended = kgroup(
            *line, "--to-bootstrap", other, "--to-command-config", config, "--by-time", "-X", LIMIT
        )
    said = one_line(ended, undo_folder)
    assert other in said and expected[problem] in said
