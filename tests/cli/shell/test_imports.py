"""What a command imports: no more than its question needs, as each library is a part of a wait."""

import json
import os
import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec

import pytest

LIVES = "fixtures/4.3.1/lives"
HEAVY = frozenset(
    {
        "asyncio",
        "importlib.metadata",
        "kafka.admin",
        "kafka.protocol.schemas",
        "kgroup.api.lag_history",
        "kgroup.assignors",
        "kgroup.broker",
        "kgroup.history.what_if",
        "kgroup.lag.findings.model",
        "kgroup.lag.status.columns",
        "kgroup.lag.status.model",
        "kgroup.net",
        "kgroup.sim",
        "llvmlite",
        "numba",
        "numpy",
        "numpy.ma",
        "pandas",
        "pyarrow",
        "pyarrow.compute",
        "pydantic",
        "pyspark",
        "rich",
        "selectors",
        "ssl",
        "wcwidth.table_wide",
    }
)
SCAN = {"numpy", "pyarrow", "selectors"}  # pyarrow has a use for sockets
COLUMNS = SCAN | {"importlib.metadata", "llvmlite"}
"""llvmlite loads machine code where there is some, which a log of 0.3 MB is worth, and wants the other. numba
only makes it: tests/scan/kernels/test_tiers.py."""
STATUSES = {"kgroup.lag.findings.model", "kgroup.lag.status.columns", "kgroup.lag.status.model"}
ASSIGNMENTS = {"kgroup.assignors", "kgroup.history.what_if"}
"""Findings say what another assignment would be."""
WIDE = set() if find_spec("wcwidth._wcwidth_c") else {"wcwidth.table_wide"}

MODULES = """
import gc, json, os, sys
from kgroup.__main__ import main
try:
    sys.argv = ["kgroup", *sys.argv[1:]]
    main()
except SystemExit as end:
    print(json.dumps([end.code, gc.get_freeze_count() > 10_000, sorted(sys.modules)]), file=sys.stderr)
"""


LOADED = """
import json, os, sys
from kgroup.cli.shell.deferred import defer
defer()
from kgroup.cli.shell.app import COMMANDS, load_command
for name in COMMANDS:
    if not os.fork():
        load_command(name)
        print(json.dumps([name, sorted(sys.modules)]), flush=True)
        os._exit(0)
    assert os.wait()[1] == 0, name
"""


def imported(*arguments: str) -> set[str]:
    """Those of HEAVY that are there when the command has answered."""
    answer = subprocess.run(
        [sys.executable, "-c", MODULES, *arguments], capture_output=True, text=True, check=True
    )
    status, is_left_alone, modules = json.loads(answer.stderr.splitlines()[-1])
    assert status == 0, answer.stderr
    assert is_left_alone, "at exit the collector goes through everything that was imported"
    heavy = set(modules) & HEAVY
    if version("typer").split(".") >= ["0", "29"]:
        heavy.discard("pydantic")  # the range in pyproject.toml keeps to a Typer without it
    return heavy


@pytest.mark.parametrize(
    ("arguments", "needed"),
    [
        (["--help"], set()),
        (["--version"], set()),
        (["find-coordinator", "payments"], set()),
        *(([name, "--help"], set()) for name in ("assign", "decode", "lag-report", "replay", "simulate")),
        (["decode", LIVES, "-q", "-o", "jsonl"], set()),
        (["find-coordinator", "東京"], WIDE),
        (["decode", LIVES, "-q"], WIDE),
        (["lag-report", LIVES, "-q"], set()),
        (["lag-report", LIVES, "-q", "-o", "csv"], set()),
        (["lag-report", LIVES, "-q", "--status"], COLUMNS | STATUSES),
        (["lag-report", LIVES, "-q", "--stuck"], COLUMNS | STATUSES | ASSIGNMENTS),
        (["replay", LIVES, "-q", "--group", "orders-app"], set()),
        (["lag-report", LIVES, "-q", "-o", "parquet", "--output", os.devnull], SCAN | {"ssl"}),
        (["groups", LIVES, "-q"], COLUMNS),
        (["commits", "orders-app", LIVES, "-q"], SCAN),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_command_imports_what_it_needs_and_no_more(arguments: list[str], needed: set[str]) -> None:
    assert imported(*arguments) <= needed


SERVING = frozenset({"join", "record", "reenact", "serve", "serve-ctl"})
NETWORK = {
    "asyncio",
    "kafka.protocol.schemas",
    "kgroup.assignors",
    "kgroup.broker",
    "kgroup.net",
    "selectors",
    "ssl",
}
"""What commands import even for their --help that are nothing without sockets."""


def test_no_command_imports_anything_heavy_before_it_is_asked_something() -> None:
    answer = subprocess.run([sys.executable, "-c", LOADED], capture_output=True, text=True, check=True)
    loaded: dict[str, list[str]] = dict(map(json.loads, answer.stdout.splitlines()))
    assert len(loaded) > 30
    heavy = {
        name: set(modules) & HEAVY - (NETWORK if name in SERVING else set())
        for name, modules in loaded.items()
    }
    assert {name: modules for name, modules in heavy.items() if modules} == {}
