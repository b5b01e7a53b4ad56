"""What a shell is offered after `--group` and `--topic`: it asks kgroup through an environment variable."""

from pathlib import Path

import pytest

from kgroup.cli.shell import complete_names
from tests.cli.test_live import broker  # noqa: F401  a fixture

ROOT = Path(__file__).parents[3]


@pytest.fixture
def offered(kgroup, monkeypatch):
    """The words offered for the last word of a command line."""

    def complete(line):
        monkeypatch.setenv("_KGROUP_COMPLETE", "complete_bash")
        monkeypatch.setenv("COMP_WORDS", line)
        monkeypatch.setenv("COMP_CWORD", str(len(line.split()) - 1))
        ended = kgroup()
        assert ended.err == ""
        return ended.out.split()

    return complete


@pytest.mark.parametrize("command", ["lag-report", "decode", "replay", "assign", "what-if"])
def test_the_groups_of_the_cluster(offered, broker, command):  # noqa: F811
    assert offered(f"kgroup {command} -b test:9092 --group te") == ["test-group"]


@pytest.mark.parametrize("command", ["lag-report", "decode", "join"])
def test_the_topics_of_the_cluster(offered, broker, command):  # noqa: F811
    assert offered(f"kgroup {command} -b test:9092 --topic __c") == ["__consumer_offsets"]


def test_the_groups_of_a_cluster_by_its_name(offered, broker, kgroup, monkeypatch, tmp_path):  # noqa: F811
    monkeypatch.setenv("XDG_CONFIG_HOME", str(tmp_path))
    assert kgroup("config", "add", "prod", "-b", "test:9092").status == 0
    assert offered("kgroup lag --cluster prod --group te") == ["test-group"]
    assert offered("kgroup lag --cluster other --group te") == []


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("kgroup replay fixtures/3.9.1/lives --group rep", ["reports-reset", "reports-rewind"]),
        ("kgroup lag fixtures/3.9.1/lives --group warehouse", ["warehouse-stuck"]),
        ("kgroup lag fixtures/3.9.1/lives --topic pay", ["payments"]),
        ("kgroup commits orders-app fixtures/3.9.1/lives --topic inv", ["inventory_stock", "invoices"]),
        ("kgroup lag fixtures/3.9.1/lives --group nobody", []),
        ("kgroup lag nowhere --group o", []),
    ],
)
def test_the_names_in_logs(offered, monkeypatch, line, names):
    monkeypatch.chdir(ROOT)
    monkeypatch.setattr(complete_names, "_LIMIT_S", 60.0)  # however busy the machine is
    assert offered(line) == names


@pytest.mark.parametrize("line", ["kgroup replay --group o", "kgroup replay -b 127.0.0.1:1 --group o"])
def test_nothing_without_a_cluster_that_answers(offered, line):
    assert offered(line) == []


def test_commands_and_options(offered):
    assert offered("kgroup find") == ["find-coordinator"]
    assert offered("kgroup decode --fol") == ["--follow"]
