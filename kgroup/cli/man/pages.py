"""`python -m kgroup.cli.man [FOLDER]`: write the man pages from the live help, by default into `man/`.

One page for kgroup, one for each command, and what stands in no help. A test fails when what is in `man/`
is not what this writes.
"""

import argparse
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any, Final

from kgroup.cli.man import records as man_records
from kgroup.cli.man import roff
from kgroup.cli.man import scenario as man_scenario
from kgroup.cli.shell.app import COMMANDS, EXIT_STATUS, build_app, load_command
from kgroup.cli.shell.example import Example

_SEE_ALSO: Final = {"simulate": ("\\fBkgroup\\-scenario\\fR(5)",)}


def pages() -> dict[str, str]:
    """File name -> man page in roff, as `man(7)` describes it."""
    written = {"kgroup.1": _overview()}
    for name in COMMANDS:
        written[f"kgroup-{name}.1"] = _command_page(name)
    written[man_records.NAME] = man_records.records_page()
    written[man_scenario.NAME] = man_scenario.scenario_page()
    return written


def _overview() -> str:
    group: Any = build_app()  # the class of the click that typer brings is private
    summary, *paragraphs = _paragraphs(group.help)
    commands = ((f"kgroup\\-{roff.text(name)}(1)", help_text) for name, help_text in COMMANDS.items())
    context = group.make_context("kgroup", [], resilient_parsing=True)
    records = (param.get_help_record(context) for param in group.get_params(context))
    options = ((f"\\fB{roff.text(record[0])}\\fR", record[1]) for record in records if record)
    return roff.page(
        [
            *roff.head("kgroup", summary),
            *roff.under("SYNOPSIS", ["\\fBkgroup\\fR [OPTIONS] COMMAND [ARGS]..."]),
            *roff.under("DESCRIPTION", roff.paragraphs(paragraphs)),
            *roff.under("COMMANDS", roff.definitions(commands)),
            *roff.under("OPTIONS", roff.definitions(options)),
            *_exit_status(),
        ],
        "the live help",
    )


def _command_page(name: str) -> str:
    command = load_command(name)
    examples = import_module("kgroup.cli.commands." + name.replace("-", "_")).EXAMPLES
    context = command.make_context(f"kgroup {name}", [], resilient_parsing=True)
    summary, *paragraphs = _paragraphs(command.help)
    usage = " ".join(command.collect_usage_pieces(context))
    arguments = ((f"\\fI{roff.text(form)}\\fR", why) for form, why in command.argument_records(context))
    return roff.page(
        [
            *roff.head(f"kgroup-{name}", summary),
            *roff.under("SYNOPSIS", [f"\\fBkgroup {roff.text(name)}\\fR {roff.text(usage)}"]),
            *roff.under("DESCRIPTION", roff.paragraphs(paragraphs or [summary])),
            *roff.under("ARGUMENTS", roff.definitions(arguments)),
            *roff.under("OPTIONS", _options(command.option_records(context))),
            *roff.under("EXAMPLES", _examples(examples)),
            *_exit_status(),
            *roff.under("SEE ALSO", [", ".join(["\\fBkgroup\\fR(1)", *_SEE_ALSO.get(name, ())])]),
        ],
        "the live help",
    )


def _options(sections: Iterable[tuple[str, Iterable[tuple[str, str]]]]) -> Iterator[str]:
    for title, records in sections:
        yield f".SS {title}"
        yield from roff.definitions((f"\\fB{roff.text(form)}\\fR", why) for form, why in records)


def _exit_status() -> Iterator[str]:
    return roff.under(
        "EXIT STATUS", roff.definitions((str(status), why) for status, why in EXIT_STATUS.items())
    )


def _examples(examples: Iterable[Example]) -> Iterator[str]:
    for number, example in enumerate(examples):
        if number:
            yield ".PP"
        yield from (roff.text(example.purpose) + ":", ".PP", ".nf", f"    $ {roff.text(example.call)}", ".fi")


def _paragraphs(text: str) -> list[str]:
    return [paragraph for paragraph in text.strip().split("\n\n") if paragraph.strip()]


def main() -> None:
    """Write every page, and remove those of commands that are gone."""
    parser = argparse.ArgumentParser(description="Write the man pages from the live help.")
    parser.add_argument("folder", type=Path, nargs="?", default=Path("man"), metavar="FOLDER")
    folder: Path = parser.parse_args().folder
    folder.mkdir(exist_ok=True)
    current = pages()
    for stale in folder.glob("kgroup*.[1-9]"):
        if stale.name not in current:
            stale.unlink()
    for name, page in current.items():
        (folder / name).write_text(page, encoding="utf-8")
