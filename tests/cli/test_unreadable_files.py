"""One segment of a folder that cannot be read costs a line on standard error; all others come out.

What no broker makes (a pipe, a folder named like a segment) is left out; a file that is lost is damage.
"""

import os
import shutil
from pathlib import Path

import pytest

from kgroup.errors import SourceError
from kgroup.log.files import sources
from kgroup.log.files.log_dir import read_partition_folder
from tests.cli.conftest import Kgroup

LIVES = Path(__file__).parents[2] / "fixtures" / "4.3.1" / "lives"
HEALTHY = LIVES / "__consumer_offsets-48"
NAME = "00000000000000000000.log"
LATER = "00000000000000009999.log"


@pytest.fixture
def log_dir(tmp_path: Path) -> Path:
    for folder in LIVES.iterdir():
        if folder.name in ("__consumer_offsets-48", "__consumer_offsets-45", "orders-0", "orders-1"):
            shutil.copytree(folder, tmp_path / "logs" / folder.name)
    return tmp_path / "logs"


def lines_about(err: str, path: Path) -> list[str]:
    return [line for line in err.splitlines() if str(path) in line]


COMMANDS = (
    ("decode", "-o", "jsonl"),
    ("lag-report", "-o", "jsonl"),
    ("lag-report", "--stuck", "-o", "jsonl"),
    ("lag-report", "--windows", "1h", "-o", "jsonl"),
    ("replay", "-o", "jsonl", "--group", "*"),
    ("find-coordinator", "--partitions", "50", "-o", "jsonl", "--from"),
)


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
@pytest.mark.parametrize("kind", ["pipe", "folder", "dangling", "loop"])
def test_one_line_for_the_file_and_the_rest_goes_on(
    kind: str, command: tuple[str, ...], log_dir: Path, kgroup: Kgroup
) -> None:
    expected = kgroup(*command, str(log_dir))
    assert expected.status == 0, expected.err
    odd = log_dir / "__consumer_offsets-48" / LATER
    why, left_out = make_odd(kind, odd)
    ended = kgroup(*command, str(log_dir))
    assert ended.status == 0, ended.err
    # decode also has a row for damage, in its place
    rows = [line for line in ended.out.splitlines() if '"kind": "error"' not in line]
    assert rows == expected.out.splitlines()
    assert lines_about(ended.err, odd) == [
        f"kgroup: {odd}: not read: {why}" if left_out else f"kgroup: {odd}: byte 0: {why}"
    ]


@pytest.mark.parametrize("command", COMMANDS, ids=lambda command: " ".join(command[:2]))
def test_a_lost_file_is_damage_for_strict(command: tuple[str, ...], log_dir: Path, kgroup: Kgroup) -> None:
    make_odd("dangling", log_dir / "__consumer_offsets-48" / LATER)
    assert kgroup(command[0], "--strict", *command[1:], str(log_dir)).status == 3


def make_odd(kind: str, path: Path) -> tuple[str, bool]:
    """Put something there that is no segment; gives the reason, and whether it is left out."""
    match kind:
        case "pipe":
            os.mkfifo(path)
            return "a named pipe, not a file", True
        case "folder":
            path.mkdir()
            return "a folder, not a file", True
        case "dangling":
            path.symlink_to(path.parent / "gone")
            return "No such file or directory", False
        case _:
            path.symlink_to(path)
            return "Too many levels of symbolic links", False


def test_odd_segments_of_a_data_topic_hang_and_stop_nothing(log_dir: Path, kgroup: Kgroup) -> None:
    shutil.rmtree(log_dir / "orders-0")
    (log_dir / "orders-0").mkdir()
    os.mkfifo(log_dir / "orders-0" / NAME)
    (log_dir / "orders-1" / LATER).symlink_to("/nowhere")
    ended = kgroup("lag-report", str(log_dir), "-o", "jsonl")
    assert ended.status == 0, ended.err
    assert lines_about(ended.err, log_dir / "orders-1" / LATER) == [
        f"kgroup: {log_dir}/orders-1/{LATER}: No such file or directory"
    ]


def test_a_folder_of_nothing_but_a_pipe_says_so(log_dir: Path, kgroup: Kgroup) -> None:
    folder = log_dir / "__consumer_offsets-3"
    folder.mkdir()
    os.mkfifo(folder / NAME)
    ended = kgroup("decode", str(folder))
    assert (ended.err, ended.status) == (
        f"kgroup: {folder}: there are no segments in it; {folder}/{NAME} is a named pipe, not a file\n",
        1,
    )


@pytest.mark.parametrize(
    "asked",
    [
        ("lag-report",),
        ("lag-report", "--stuck"),
        ("lag-report", "--windows", "1h"),
        ("decode", "-o", "jsonl"),
        ("decode", "--latest", "-o", "table"),
        ("replay", "--group", "*"),
        ("ledger", "--group", "*"),
        ("find-coordinator", "--partitions", "50", "--from"),
        ("offsets-topic",),
        ("groups",),
    ],
    ids=" ".join,
)
def test_a_folder_that_may_not_be_listed_is_damage_to_whoever_wants_all(
    asked: tuple[str, ...], log_dir: Path, kgroup: Kgroup, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its groups are not in the rows, which is nothing that was left out on purpose."""
    closed = log_dir / "__consumer_offsets-45"

    def listed(path: Path, **given: str) -> object:
        if path == closed:  # root, which may list all, runs these tests, too
            raise SourceError(f"{path}: Permission denied")
        return read_partition_folder(path, **given)

    monkeypatch.setattr(sources, "read_partition_folder", listed)
    ended = kgroup(*asked, str(log_dir), "-q", "--strict")
    assert ended.status == 3
    assert lines_about(ended.err, closed) == [f"kgroup: {closed}: not read: Permission denied"]


@pytest.mark.skipif(os.geteuid() == 0, reason="root may read every file")
def test_a_file_that_may_not_be_read(log_dir: Path, kgroup: Kgroup) -> None:
    locked = log_dir / "__consumer_offsets-48" / LATER
    shutil.copy(HEALTHY / NAME, locked)
    locked.chmod(0)
    ended = kgroup("decode", str(log_dir))
    assert ended.status == 0
    assert lines_about(ended.err, locked) == [
        f"kgroup: {locked}: byte 0: {locked.stat().st_size} bytes left out: Permission denied"
    ]
