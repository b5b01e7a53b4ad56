"""The tables of the library are those that the commands write as Parquet."""

from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import kgroup as library

LIVES = str(Path(__file__).parents[3] / "fixtures/4.3.1/lives")
COMMANDS = {
    "replay": (("replay", LIVES, "--group", "migrate-*"), lambda logs: library.replay(logs, ["migrate-*"])),
    "what-if": (
        ("what-if", LIVES, "--group", "orders-app", "--static"),
        lambda logs: library.what_if(library.replay(logs, "orders-app"), static=True),
    ),
    "decode": (("decode", LIVES), library.decode),
    "decode --latest": (("decode", LIVES, "--latest"), lambda logs: library.decode(logs, latest=True)),
    "decode --group": (
        ("decode", LIVES, "--group", "billing-txn", "--type", "offset-commit"),
        lambda logs: library.decode(logs, groups=["billing-txn"], types=["offset-commit"]),
    ),
    "decode --topic": (
        ("decode", LIVES, "--topic", "orders:0,3", "--from-offset", "3"),
        lambda logs: library.decode(logs, topics=["orders:0,3"], first_offset=3),
    ),
    "decode --partition": (
        ("decode", LIVES, "--partition", "14"),
        lambda logs: library.decode(logs, partitions=[14]),
    ),
    "assign": (
        ("assign", "--members", "c1,c2", "--topic", "orders:5", "--then", "join c3"),
        lambda logs: library.assign(["c1", "c2"], topics={"orders": 5}, then=["join c3"]),
    ),
    "assign PATH": (
        ("assign", LIVES, "--group", "orders-app"),
        lambda logs: library.assign(library.group_plan(logs, "orders-app")),
    ),
    "simulate": (
        ("simulate", "c1-leaves-under-sticky", "--seed", "3"),
        lambda logs: library.simulate("c1-leaves-under-sticky", seed=3),
    ),
}


@pytest.mark.parametrize("name", COMMANDS)
def test_the_table_is_that_of_the_command(kgroup, tmp_path, name):
    arguments, ask = COMMANDS[name]
    ended = kgroup(*arguments, "-o", "parquet", "--output", str(tmp_path / "rows.parquet"))
    assert ended.status == 0, ended.err
    shown = pq.read_table(tmp_path / "rows.parquet")
    answer = ask(library.open_logs(LIVES))
    assert answer.to_arrow() == shown
    assert pa.table(answer) == shown
    assert shown.num_rows
