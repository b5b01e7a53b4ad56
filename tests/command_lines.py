"""The answers of many command lines, to be held against later ones: `python -m tests.command_lines`.

`record FOLDER [--spark]` runs each line of `command_lines.txt` as a process of its own from the root of the
repository, and writes a file for each: the line, its exit status, both outputs and the files that it wrote.
`compare FOLDER FOLDER` prints each line whose two records differ and last `N same, N different`; exit 1 if
any differ, 2 for a wrong call.

A line is a call as a shell takes it: `NAME=VALUE` in front sets a variable (COLUMNS is 80 without), `< FILE`
and `<<< TEXT` at its end are standard input, and `{out}` is a new folder, whose files belong to the answer.
Lines that begin with `@spark` start a Spark session, and are left out without `--spark`.
"""

import difflib
import hashlib
import os
import re
import shlex
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import chain, islice
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = Path(__file__).parent / "command_lines.txt"
SURROUNDINGS = {
    "COLUMNS": "80",
    "LC_ALL": "C.UTF-8",
    "NO_COLOR": "1",
    "TERM": "dumb",
    "TZ": "UTC",
}
MEASURED = re.compile(rb"^(kgroup_look_duration_seconds) \S+$", re.MULTILINE)
"""The one figure in an answer that says how long it took."""

AT_ONCE = 2
LONGEST_S = 600
SHOWN_OF_A_DIFFERENCE = 40


class ListError(Exception):
    """A line of the list that is no call of kgroup."""


@dataclass(frozen=True, slots=True, kw_only=True)
class CommandLine:
    """One line of the list; `number` counts the lines from 1, with those for Spark."""

    number: int
    text: str
    spark: bool
    variables: dict[str, str]
    arguments: tuple[str, ...]
    stdin: bytes

    @property
    def command(self) -> str:
        """The command it calls, or an option of kgroup's own; empty if there is neither."""
        return self.arguments[0] if self.arguments else ""

    @property
    def record_name(self) -> str:
        slug = re.sub(r"[^a-zA-Z0-9]+", "-", self.text.replace("kgroup ", "", 1)).strip("-")
        return f"{self.number:03d}-{slug[:80].strip('-')}.txt"


def main(arguments: list[str]) -> int:
    """Run what `arguments` ask for; the exit status."""
    match arguments:
        case ["record", folder, *rest] if rest in ([], ["--spark"]):
            return record(Path(folder), spark=bool(rest))
        case ["compare", before, after]:
            return compare(Path(before), Path(after))
    print(
        "usage: python -m tests.command_lines record FOLDER [--spark] | compare FOLDER FOLDER",
        file=sys.stderr,
    )
    return 2


def command_lines(text: str) -> Iterator[CommandLine]:
    """Every line of a list, in order; empty lines and those that begin with # are for its reader."""
    lines = [line for line in text.splitlines() if line and not line.startswith("#")]
    for number, line in enumerate(lines, start=1):
        spark = line.startswith("@spark ")
        call = line.removeprefix("@spark ")
        words = shlex.split(call)
        variables = {}
        while words and (assignment := re.fullmatch(r"([A-Z_]+)=(.*)", words[0], re.DOTALL)):
            variables[assignment[1]] = assignment[2]
            words.pop(0)
        if words[:1] != ["kgroup"]:
            raise ListError(f"line {number} of the list calls no kgroup: {line}")
        stdin = b""
        if words[-2:-1] == ["<"]:
            stdin = (ROOT / words[-1]).read_bytes()
        elif words[-2:-1] == ["<<<"]:
            stdin = words[-1].encode() + b"\n"
        arguments = words[1:-2] if words[-2:-1] in (["<"], ["<<<"]) else words[1:]
        yield CommandLine(
            number=number,
            text=call,
            spark=spark,
            variables=variables,
            arguments=tuple(arguments),
            stdin=stdin,
        )


def record(folder: Path, *, spark: bool) -> int:
    """Write one file for each line into `folder`, which has to be new or empty."""
    folder.mkdir(parents=True, exist_ok=True)
    if any(folder.iterdir()):
        print(f"{folder} is not empty", file=sys.stderr)
        return 2
    lines = [line for line in command_lines(LIST.read_text(encoding="utf-8")) if spark or not line.spark]
    with ThreadPoolExecutor(AT_ONCE) as runs:
        for line, answer in zip(lines, runs.map(answer_of, lines), strict=True):
            (folder / line.record_name).write_bytes(answer)
    print(f"{len(lines)} recorded")
    return 0


def answer_of(line: CommandLine) -> bytes:
    """The record of one line.

    In it the root of the repository is `{root}`, the folder for its files `{out}`, and `MEASURED` a word.
    """
    with tempfile.TemporaryDirectory(prefix="kgroup-") as out:
        ended = subprocess.run(
            [sys.executable, "-m", "kgroup", *(word.replace("{out}", out) for word in line.arguments)],
            cwd=ROOT,
            env=os.environ | SURROUNDINGS | line.variables,
            input=line.stdin,
            capture_output=True,
            timeout=LONGEST_S,
            check=False,
        )
        files = sorted(path for path in Path(out).rglob("*") if path.is_file())
        parts = [f"$ {line.text}\n[{ended.returncode}]\n".encode()]
        parts += [_part("standard output", ended.stdout), _part("standard error", ended.stderr)]
        parts += [_part(f"{{out}}/{path.relative_to(out).as_posix()}", path.read_bytes()) for path in files]
        whole = MEASURED.sub(rb"\1 {measured}", b"".join(parts))
        return whole.replace(out.encode(), b"{out}").replace(str(ROOT).encode(), b"{root}")


def _part(title: str, content: bytes) -> bytes:
    try:
        content.decode()
    except UnicodeDecodeError:
        content = f"{len(content)} bytes, sha256 {hashlib.sha256(content).hexdigest()}\n".encode()
    else:
        if content and not content.endswith(b"\n"):
            content += b"\n\\ no newline at the end\n"
    return f"--- {title}\n".encode() + content


def compare(before: Path, after: Path) -> int:
    """Print which records of two folders differ, and how; the exit status."""
    missing = [folder for folder in (before, after) if not folder.is_dir()]
    if missing:
        print(f"{missing[0]}: no such folder", file=sys.stderr)
        return 2
    same = different = 0
    for name in sorted({path.name for folder in (before, after) for path in folder.iterdir()}):
        difference = list(islice(_difference(before / name, after / name), SHOWN_OF_A_DIFFERENCE + 1))
        if not difference:
            same += 1
            continue
        different += 1
        print(name)
        for shown in difference[:SHOWN_OF_A_DIFFERENCE]:
            print(f"    {shown[:200]}")
        if len(difference) > SHOWN_OF_A_DIFFERENCE:
            print("    ...")
    print(f"{same} same, {different} different")
    return 1 if different or not same else 0


def _difference(before: Path, after: Path) -> Iterator[str]:
    """Nothing for equal bytes, else a unified diff after the line that was run."""
    for path in (before, after):
        if not path.exists():
            yield f"not recorded in {path.parent}"
            return
    old, new = before.read_bytes(), after.read_bytes()
    if old == new:
        return
    # Only \n ends a line here, so that other ends of lines are seen as differences, too.
    old_lines, new_lines = (content.decode(errors="replace").split("\n") for content in (old, new))
    yield from chain(
        [new_lines[0]], map(repr_of_controls, difflib.unified_diff(old_lines, new_lines, lineterm="", n=1))
    )


def repr_of_controls(line: str) -> str:
    """The line with what a terminal would act on as escapes."""
    return "".join(letter if letter.isprintable() else repr(letter)[1:-1] for letter in line)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
