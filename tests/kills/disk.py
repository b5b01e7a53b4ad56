"""A disk that keeps only what was synced, as POSIX promises no more.

Inside the broker's process `record` notes each fsync and each change of a directory. Once the process is
dead, `lose_power` turns its folder into what a loss of power may have left: bytes behind the last fsync are
kept, lost, zeros or noise; a directory's changes since its last fsync are undone from some point on.
"""

import json
import os
import random
import shutil
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

JOURNAL: Final = "journal.jsonl"
_BLOCK: Final = 512


def record(folder: Path, notes: Path) -> None:
    """From now on note in `notes` what this process syncs and renames below `folder`. It cannot be undone."""
    notes.mkdir(parents=True, exist_ok=True)
    journal = os.open(notes / JOURNAL, os.O_WRONLY | os.O_APPEND | os.O_CREAT)
    count = 0

    def is_ours(path: Any) -> bool:
        return Path(os.fspath(path)).is_relative_to(folder)

    def note(**event: Any) -> None:
        os.write(journal, json.dumps(event).encode() + b"\n")

    def keep(path: Any) -> str | None:
        """A second name for a file that is about to lose its own."""
        nonlocal count
        if not Path(path).is_file():
            return None
        count += 1
        os.link(path, notes / str(count))
        return str(count)

    real: dict[str, Callable[..., Any]] = {
        name: getattr(os, name) for name in ("fsync", "replace", "rename", "unlink", "mkdir", "rmdir")
    }

    def fsync(file: Any) -> None:
        real["fsync"](file)
        fd = file if isinstance(file, int) else file.fileno()
        path = Path(f"/proc/self/fd/{fd}").readlink()
        if not (is_ours(path) or path == folder.parent):
            return
        state = os.fstat(fd)
        if path.is_dir():
            note(event="directory", path=str(path), inodes=[entry.inode() for entry in os.scandir(path)])
        else:
            note(event="file", inode=state.st_ino, size=state.st_size)

    def move(name: str) -> Callable[..., None]:
        def moved(source: Any, target: Any, **options: Any) -> None:
            old = keep(target) if is_ours(target) else None
            real[name](source, target, **options)
            if is_ours(target):
                note(event="move", source=os.fspath(source), target=os.fspath(target), old=old)

        return moved

    def unlink(path: Any, **options: Any) -> None:
        old = keep(path) if is_ours(path) else None
        real["unlink"](path, **options)
        if old is not None:
            note(event="unlink", target=os.fspath(path), old=old)

    def mkdir(path: Any, *arguments: Any, **options: Any) -> None:
        real["mkdir"](path, *arguments, **options)
        if is_ours(path):
            note(event="mkdir", target=os.fspath(path))

    def rmdir(path: Any, **options: Any) -> None:
        real["rmdir"](path, **options)
        if is_ours(path):
            note(event="rmdir", target=os.fspath(path))

    os.fsync = fsync
    os.replace, os.rename = move("replace"), move("rename")
    os.unlink = os.remove = unlink
    os.mkdir, os.rmdir = mkdir, rmdir


@dataclass(slots=True)
class Baseline:
    """A folder's files by inode at a moment when all of it was on the disk."""

    contents: dict[int, bytes] = field(default_factory=dict)

    @classmethod
    def of(cls, folder: Path) -> "Baseline":
        return cls({path.stat().st_ino: path.read_bytes() for path in folder.rglob("*") if path.is_file()})


def lose_power(folder: Path, notes: Path, baseline: Baseline, chance: random.Random) -> None:
    """Make of a dead process's folder what the disk may hold. The notes are gone afterwards."""
    journal = notes / JOURNAL
    events = (
        [json.loads(line) for line in journal.read_text().splitlines() if line] if journal.exists() else []
    )
    synced = {event["inode"]: event["size"] for event in events if event["event"] == "file"}
    listed = {inode for event in events if event["event"] == "directory" for inode in event["inodes"]}
    contents = {path: path.stat().st_ino for path in folder.rglob("*") if path.is_file()}
    moved = {event["target"] for event in events if event["event"] == "move"}
    for path, inode in contents.items():
        _forget_bytes(path, inode, synced, baseline, chance)
        is_new = inode not in listed and inode not in baseline.contents and str(path) not in moved
        if is_new and chance.random() < 0.5:
            path.unlink()
    _undo(_unsynced(events), notes, chance)
    shutil.rmtree(notes, ignore_errors=True)


def _forget_bytes(
    path: Path, inode: int, synced: dict[int, int], baseline: Baseline, chance: random.Random
) -> None:
    data = path.read_bytes()
    before = baseline.contents.get(inode)
    firm = synced.get(inode, 0)
    if before is not None:
        firm = max(firm, _in_common(data, before))
    if firm >= len(data):
        return
    kept = chance.randint(firm, len(data))
    if chance.random() < 0.5:
        kept = max(firm, kept - kept % _BLOCK)  # whole blocks are what disks write
    rest = len(data) - kept
    tail = chance.choice((b"", bytes(rest), chance.randbytes(rest), data[kept:]))
    path.write_bytes(data[:kept] + tail)


def _in_common(data: bytes, before: bytes) -> int:
    """The number of bytes that both begin with."""
    for position, (byte, other) in enumerate(zip(data, before, strict=False)):
        if byte != other:
            return position
    return min(len(data), len(before))


def _unsynced(events: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """The changes of directories that no fsync of the directory followed, oldest first."""
    last_sync: dict[str, int] = {}
    for number, event in enumerate(events):
        if event["event"] == "directory":
            last_sync[event["path"]] = number
    return [
        event
        for number, event in enumerate(events)
        if event["event"] in ("move", "unlink", "mkdir")
        and last_sync.get(str(Path(event["target"]).parent), -1) < number
    ]


def _undo(changes: list[dict[str, Any]], notes: Path, chance: random.Random) -> None:
    """Undo the last of these changes: file systems keep their order."""
    first = chance.randint(0, len(changes))
    for event in reversed(changes[first:]):
        target = Path(event["target"])
        if event["event"] == "mkdir":
            shutil.rmtree(target, ignore_errors=True)
            continue
        if not target.parent.is_dir():
            continue
        if event["event"] == "move" and target.exists():
            source = Path(event["source"])
            if source.parent.is_dir() and not source.exists():
                target.rename(source)
        if event["old"] is not None and not target.exists():
            os.link(notes / event["old"], target)
