"""`python -m kgroup.cli.man [FOLDER]`: write the man pages from the live help, by default into `man/`.

One page for kgroup and one for each command. A test fails when what is in `man/` is not what this writes.
"""

import re
import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from kgroup import __version__
from kgroup.cli.app import COMMANDS, EXIT_STATUS, build_app, load_command
from kgroup.cli.example import Example

RELEASED = "2026-11-21"
"""The date at the foot of the pages: that of the version."""


def pages() -> dict[str, str]:
    """File name -> man page in roff, as `man(7)` describes it."""
    written = {"kgroup.1": _overview()}
    for name in COMMANDS:
        written[f"kgroup-{name}.1"] = _command_page(name)
    return written


def _overview() -> str:
    group: Any = build_app()  # the class of the click that typer brings is private
    summary, *paragraphs = _paragraphs(group.help)
    commands = ((f"kgroup\\-{_text(name)}(1)", help_text) for name, help_text in COMMANDS.items())
    context = group.make_context("kgroup", [], resilient_parsing=True)
    records = (param.get_help_record(context) for param in group.get_params(context))
    options = ((f"\\fB{_text(record[0])}\\fR", record[1]) for record in records if record)
    return _page(
        [
            *_head("kgroup", summary),
            *_section("SYNOPSIS", ["\\fBkgroup\\fR [OPTIONS] COMMAND [ARGS]..."]),
            *_section("DESCRIPTION", _filled(paragraphs)),
            *_section("COMMANDS", _definitions(commands)),
            *_section("OPTIONS", _definitions(options)),
            *_exit_status(),
        ]
    )


def _command_page(name: str) -> str:
    command = load_command(name)
    examples = import_module("kgroup.cli." + name.replace("-", "_")).EXAMPLES
    context = command.make_context(f"kgroup {name}", [], resilient_parsing=True)
    summary, *paragraphs = _paragraphs(command.help)
    usage = " ".join(command.collect_usage_pieces(context))
    arguments = (
        (f"\\fI{_text(form)}\\fR", why) for form, why in command.parameter_records(context, "argument")
    )
    options = ((f"\\fB{_text(form)}\\fR", why) for form, why in command.parameter_records(context, "option"))
    return _page(
        [
            *_head(f"kgroup-{name}", summary),
            *_section("SYNOPSIS", [f"\\fBkgroup {_text(name)}\\fR {_text(usage)}"]),
            *_section("DESCRIPTION", _filled(paragraphs or [summary])),
            *_section("ARGUMENTS", _definitions(arguments)),
            *_section("OPTIONS", _definitions(options)),
            *_section("EXAMPLES", _examples(examples)),
            *_exit_status(),
            *_section("SEE ALSO", ["\\fBkgroup\\fR(1)"]),
        ]
    )


def _page(lines: Iterable[str]) -> str:
    return "\n".join(['.\\" Written by python -m kgroup.cli.man from the live help.', *lines]) + "\n"


def _head(title: str, summary: str) -> Iterator[str]:
    yield f'.TH {title.upper()} 1 {RELEASED} "kgroup {__version__}" "kgroup"'
    yield from _section("NAME", [f"{_text(title)} \\- {_text(summary.rstrip('.'))}"])


def _section(title: str, lines: Iterable[str]) -> Iterator[str]:
    body = list(lines)
    if body:
        yield f".SH {title}"
        yield from body


def _exit_status() -> Iterator[str]:
    return _section("EXIT STATUS", _definitions((str(status), why) for status, why in EXIT_STATUS.items()))


def _definitions(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    for form, why in entries:
        yield from (".TP", form, _text(why))


def _examples(examples: Iterable[Example]) -> Iterator[str]:
    for number, example in enumerate(examples):
        if number:
            yield ".PP"
        yield from (_text(example.purpose) + ":", ".PP", ".nf", f"    $ {_text(example.call)}", ".fi")


def _paragraphs(text: str) -> list[str]:
    return [paragraph for paragraph in text.strip().split("\n\n") if paragraph.strip()]


def _filled(paragraphs: Iterable[str]) -> Iterator[str]:
    for number, paragraph in enumerate(paragraphs):
        if number:
            yield ".PP"
        if paragraph.startswith("\b"):  # click's mark for lines that stay as they are
            yield from (".nf", *map(_text, paragraph.splitlines()[1:]), ".fi")
        else:
            yield _text(" ".join(paragraph.split()))


def _text(text: str) -> str:
    """`text` with what roff would take for a command or a typographic sign as itself."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", escaped)


def main() -> None:
    """Write every page, and remove those of commands that are gone."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "man")
    folder.mkdir(exist_ok=True)
    current = pages()
    for stale in folder.glob("kgroup*.1"):
        if stale.name not in current:
            stale.unlink()
    for name, page in current.items():
        (folder / name).write_text(page, encoding="utf-8")


if __name__ == "__main__":
    main()
