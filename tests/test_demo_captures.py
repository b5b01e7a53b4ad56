"""What `kgroup demo` unpacks is packed from fixtures/ and from nothing else."""

import os
import shutil
from pathlib import Path
from zipfile import ZipFile

from tests.demo_captures import CAPTURES, PACKED, ROOT, pack


def entries(packed: Path) -> list[tuple[str, tuple[int, ...], int, bytes]]:
    with ZipFile(packed) as captures:
        return [
            (entry.filename, entry.date_time, entry.external_attr, captures.read(entry))
            for entry in captures.infolist()
        ]


def test_the_zip_is_what_would_be_packed_now(tmp_path: Path) -> None:
    pack(ROOT / "fixtures", tmp_path / "demo.zip")
    # Not byte by byte: another zlib may compress otherwise.
    assert entries(PACKED) == entries(tmp_path / "demo.zip"), "run python -m tests.demo_captures"


def test_each_file_of_a_broker_is_in_it_and_what_was_told_beside_is_not() -> None:
    names = {name for name, *_ in entries(PACKED)}
    logs = {
        path.relative_to(ROOT / "fixtures").as_posix()
        for capture in CAPTURES
        for path in (ROOT / "fixtures" / capture).glob("*-*/*.log")
    }
    assert logs
    assert logs <= names
    assert not any(name.endswith(("truth.jsonl", "story.json", "described.txt")) for name in names)


def test_times_and_the_order_on_disk_change_no_byte(tmp_path: Path) -> None:
    for at, folder in enumerate(("one", "other")):
        for capture in CAPTURES:
            below = tmp_path / folder / capture
            shutil.copytree(ROOT / "fixtures" / capture / "orders-0", below / "orders-0")
            for name in ("b", "a")[:: -1 if at else 1]:
                (below / name).write_bytes(b"x")
                os.utime(below / name, (1e9 + at * 1e6,) * 2)
        pack(tmp_path / folder, tmp_path / f"{folder}.zip")
    assert (tmp_path / "one.zip").read_bytes() == (tmp_path / "other.zip").read_bytes()


def test_it_is_small_enough_to_come_with_a_wheel() -> None:
    assert PACKED.stat().st_size < 300_000
