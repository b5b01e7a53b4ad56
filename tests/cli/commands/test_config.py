"""`kgroup config`, and --cluster on commands of every kind."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

import kgroup.testing
from tests.cli.conftest import Kgroup
from tests.net.usual_groups import commit


@pytest.fixture(autouse=True)
def file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Where names go in these tests."""
    monkeypatch.setattr("typer.get_app_dir", lambda name: str(tmp_path / name))
    return tmp_path / "kgroup" / "clusters.toml"


@pytest.fixture(scope="module")
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with kgroup.testing.cluster(topics={"orders": 1}) as running:
        commit(running, "billing", [0])
        yield running


def test_a_name_is_added_listed_shown_and_removed(kgroup: Kgroup, file: Path, tmp_path: Path) -> None:
    config = tmp_path / "prod.properties"
    config.write_text("security.protocol=SSL\nssl.key.password=s3cret\n", encoding="utf-8")
    added = kgroup("config", "add", "prod", "-b", "a:1,b:2", "--command-config", str(config))
    assert (added.status, added.out, added.err) == (0, "", f"kgroup: {file}: prod is a:1,b:2\n")
    listed = kgroup("config", "list", "-o", "jsonl")
    assert json.loads(listed.out) == {
        "cluster": "prod",
        "bootstrap_servers": "a:1,b:2",
        "command_config": str(config),
    }
    shown = kgroup("config", "show", "prod", "-o", "csv", "--no-headers")
    assert shown.out.splitlines() == [
        'bootstrap.servers,"a:1,b:2"',
        f"(properties file),{config}",
        "security.protocol,SSL",
        "ssl.key.password,********",
    ]
    assert "s3cret" not in file.read_text(encoding="utf-8")
    removed = kgroup("config", "remove", "prod")
    assert (removed.status, removed.err) == (0, f"kgroup: {file}: prod removed\n")
    assert kgroup("config", "list", "-o", "jsonl").out == ""


def test_one_that_is_there_is_replaced_only_on_demand(kgroup: Kgroup) -> None:
    assert kgroup("config", "add", "prod", "-b", "a:1").status == 0
    again = kgroup("config", "add", "prod", "-b", "b:2")
    assert (again.status, again.err) == (
        2,
        "kgroup: config add prod: there is one already, a:1; --replace takes its place\n",
    )
    assert kgroup("config", "add", "prod", "-b", "b:2", "--replace").status == 0
    assert json.loads(kgroup("config", "list", "-o", "jsonl").out)["bootstrap_servers"] == "b:2"


@pytest.mark.parametrize(
    "call",
    [
        ("groups", "-o", "jsonl"),
        ("describe", "billing", "-o", "jsonl"),
        ("lag-report", "-o", "jsonl"),
        ("decode", "-o", "jsonl"),
        ("find-coordinator", "billing", "-o", "jsonl"),
    ],
    ids=lambda call: call[0],
)
def test_a_name_stands_for_the_address(
    kgroup: Kgroup, kafka: kgroup.testing.Cluster, call: tuple[str, ...]
) -> None:
    assert kgroup("config", "add", "here", "-b", kafka.bootstrap).status == 0
    by_name, by_address = kgroup(*call, "--cluster", "here"), kgroup(*call, "-b", kafka.bootstrap)
    assert by_name.status == 0, by_name.err
    assert by_name.out == by_address.out != ""


def test_a_name_does_for_options_that_need_a_cluster(kgroup: Kgroup) -> None:
    assert kgroup("config", "add", "down", "-b", "127.0.0.1:1").status == 0
    ended = kgroup("decode", "--cluster", "down", "--follow")
    assert (ended.status, ended.err.partition(";")[0]) == (
        1,
        "kgroup: no broker answers: 127.0.0.1:1: Connection refused",
    )


@pytest.mark.parametrize(
    ("call", "why"),
    [
        (("groups", "--cluster", "prd"), "--cluster prd: no such cluster; did you mean prod?"),
        (("groups", "--cluster", "prod", "-b", "a:1"), "give --bootstrap-server or --cluster, not both"),
        (
            ("groups", "fixtures/4.3.1/lives", "--cluster", "prod"),
            "give PATHs or --bootstrap-server, not both",
        ),
        (("config", "show", "prd"), "config show prd: no such cluster; did you mean prod?"),
        (("config", "remove", "zzz"), "config remove zzz: no such cluster; there are prod"),
        (("config", "list", "prod"), "config list shows all names; config show prod shows one"),
        (("config", "show"), "give config show NAME"),
        (("config", "add", "y"), "config add y: where is it? Give -b HOST:PORT"),
        (
            ("config", "add", "a b", "-b", "a:1"),
            "cluster 'a b': a name has letters, digits, - and _, at most 64",
        ),
        (
            ("config", "add", "y", "-b", "localhost:99999"),
            "--bootstrap-server localhost:99999: ports are 1 to 65535",
        ),
    ],
    ids=lambda each: " ".join(each) if isinstance(each, tuple) else None,
)
def test_what_is_refused(kgroup: Kgroup, call: tuple[str, ...], why: str) -> None:
    assert kgroup("config", "add", "prod", "-b", "a:1").status == 0
    ended = kgroup(*call)
    assert ended.status == 2
    assert ended.err.startswith(f"kgroup: {why}")
