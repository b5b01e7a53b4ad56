"""A disk that loses its power: what no fsync has brought to it may be gone, torn, zero or garbage.

In the broker's process `trace` writes down what is brought to the disk and keeps what is replaced. After
the kill, `lose` makes of the folder one that a machine could have after a loss of power: files keep what
was synced and any part of the rest, names are those of the folder's last fsync or those of now, each by
itself. That is harsher than file systems are, which keep some order.
"""

import json
import os
import stat
from dataclasses import dataclass, field
from pathlib import Path
from random import Random
from typing import Any


@dataclass(slots=True)
class Synced:
    """What is on the disk for sure: sizes of files by inode, and the inode of each name by folder's inode."""

    sizes: dict[int, int] = field(default_factory=dict)
    names: dict[int, dict[str, int]] = field(default_factory=dict)


def everything(folder: Path) -> Synced:
    """All that is in a folder now, as before a broker starts on it."""
    synced = Synced()
    for parent, _, files in os.walk(folder):
        synced.names[os.stat(parent).st_ino] = _names(parent)
        for name in files:
            status = (Path(parent) / name).stat()
            synced.sizes[status.st_ino] = status.st_size
    return synced


def trace(record: Path, replaced: Path) -> None:
    """From now on write every fsync of this process to `record`, and link what is replaced into `replaced`.

    Nothing is really synced: the machine does not go down.
    """
    written = os.open(record, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    replace, unlink = os.replace, os.unlink

    def fsync(file: Any) -> None:
        status = os.fstat(file if isinstance(file, int) else file.fileno())
        entry: list[object] = [status.st_ino, status.st_size]
        if stat.S_ISDIR(status.st_mode):
            entry = [status.st_ino, _names(f"/proc/self/fd/{file}")]
        os.write(written, json.dumps(entry).encode() + b"\n")

    def keep(path: Any) -> None:
        if os.path.isfile(path):
            kept = replaced / str(os.stat(path).st_ino)
            if not kept.exists():
                os.link(path, kept)

    def replace_keeping(source: Any, target: Any, **options: Any) -> None:
        keep(target)
        replace(source, target, **options)

    def unlink_keeping(path: Any, **options: Any) -> None:
        keep(path)
        unlink(path, **options)

    os.fsync = fsync
    os.replace, os.rename = replace_keeping, replace_keeping  # type: ignore[assignment]
    os.unlink = unlink_keeping  # type: ignore[assignment]


def lose(folder: Path, before: Synced, record: Path, replaced: Path, random: Random) -> int:
    """Take from a folder what was not synced, by chance; returns how many files and names it concerned."""
    for line in record.read_text().splitlines() if record.exists() else ():
        inode, what = json.loads(line)
        if isinstance(what, dict):
            before.names[inode] = what
        else:
            before.sizes[inode] = what
    concerned = 0
    for parent, _, _ in os.walk(folder):
        concerned += _lose_names(Path(parent), before, replaced, random)
        for path in sorted(Path(parent).iterdir()):
            if path.is_file():
                concerned += _lose_bytes(path, before.sizes.get(path.stat().st_ino, 0), random)
    return concerned


def _lose_names(folder: Path, synced: Synced, replaced: Path, random: Random) -> int:
    now = _names(folder)
    durable = synced.names.get(folder.stat().st_ino, {})
    concerned = 0
    for name in sorted(now.keys() | durable.keys()):
        path = folder / name
        if now.get(name) == durable.get(name) or path.is_dir():
            continue
        concerned += 1
        if random.random() < 0.5:
            continue
        old = replaced / str(durable.get(name))
        if name not in durable:
            path.unlink()
        elif old.exists():
            path.unlink(missing_ok=True)
            os.link(old, path)
    return concerned


def _lose_bytes(path: Path, synced: int, random: Random) -> int:
    raw = path.read_bytes()
    if len(raw) <= synced:
        return 0
    lost = len(raw) - synced
    fate = random.choice(["kept", "cut", "torn", "zero", "garbage", "hole"])
    if fate == "cut":
        raw = raw[:synced]
    elif fate == "torn":
        raw = raw[: synced + random.randrange(lost)]
    elif fate == "zero":
        raw = raw[:synced] + bytes(lost)
    elif fate == "garbage":
        raw = raw[:synced] + random.randbytes(lost)
    elif fate == "hole":  # a page in the middle did not make it, what lies behind did
        start = synced + random.randrange(lost)
        raw = raw[:start] + bytes(len(raw[start : start + 64])) + raw[start + 64 :]
    path.unlink()  # a copy kept under another name stays as it was
    path.write_bytes(raw)
    return 1


def _names(folder: str | Path) -> dict[str, int]:
    with os.scandir(folder) as entries:
        return {entry.name: entry.inode() for entry in entries}
