"""`python -m kgroup.cli.man [FOLDER]`: write the man pages from the live help, by default into `man/`.

One page for kgroup, one for each command, and one for scenario files. A test fails when what is in `man/` is
not what this writes.
"""

import sys
from collections.abc import Iterable, Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

from kgroup.cli.app import COMMANDS, EXIT_STATUS, build_app, load_command
from kgroup.cli.example import Example
from kgroup.cli.man_scenario import scenario_page
from kgroup.cli.roff import bold, definitions, escaped, filled, head, italic, page, paragraphs, section


def pages() -> dict[str, str]:
    """File name -> man page."""
    written = {"kgroup.1": _overview(), "kgroup-scenario.5": scenario_page()}
    for name in COMMANDS:
        written[f"kgroup-{name}.1"] = _command_page(name)
    return written


def _overview() -> str:
    group: Any = build_app()  # the class of the click that typer brings is private
    summary, *description = paragraphs(group.help)
    commands = ((f"kgroup\\-{escaped(name)}(1)", help_text) for name, help_text in COMMANDS.items())
    context = group.make_context("kgroup", [], resilient_parsing=True)
    records = (param.get_help_record(context) for param in group.get_params(context))
    options = ((bold(record[0]), record[1]) for record in records if record)
    return page(
        [
            *head("kgroup", 1, summary),
            *section("SYNOPSIS", [f"{bold('kgroup')} [OPTIONS] COMMAND [ARGS]..."]),
            *section("DESCRIPTION", filled(description)),
            *section("COMMANDS", definitions(commands)),
            *section("OPTIONS", definitions(options)),
            *_exit_status(),
        ]
    )


def _command_page(name: str) -> str:
    command = load_command(name)
    examples = import_module("kgroup.cli." + name.replace("-", "_")).EXAMPLES
    context = command.make_context(f"kgroup {name}", [], resilient_parsing=True)
    summary, *description = paragraphs(command.help)
    usage = " ".join(command.collect_usage_pieces(context))
    arguments = ((italic(form), why) for form, why in command.parameter_records(context, "argument"))
    options = ((bold(form), why) for form, why in command.parameter_records(context, "option"))
    return page(
        [
            *head(f"kgroup-{name}", 1, summary),
            *section("SYNOPSIS", [f"{bold(f'kgroup {name}')} {escaped(usage)}"]),
            *section("DESCRIPTION", filled(description or [summary])),
            *section("ARGUMENTS", definitions(arguments)),
            *section("OPTIONS", definitions(options)),
            *section("EXAMPLES", _examples(examples)),
            *_exit_status(),
            *section("SEE ALSO", [", ".join(_related(name))]),
        ]
    )


def _related(name: str) -> Iterator[str]:
    yield f"{bold('kgroup')}(1)"
    if name == "simulate":
        yield f"{bold('kgroup-scenario')}(5)"


def _exit_status() -> Iterator[str]:
    return section("EXIT STATUS", definitions((str(status), why) for status, why in EXIT_STATUS.items()))


def _examples(examples: Iterable[Example]) -> Iterator[str]:
    for number, example in enumerate(examples):
        if number:
            yield ".PP"
        yield from (escaped(example.purpose) + ":", ".PP", ".nf", f"    $ {escaped(example.call)}", ".fi")


def main() -> None:
    """Write every page, and remove those of commands that are gone."""
    folder = Path(sys.argv[1] if len(sys.argv) > 1 else "man")
    folder.mkdir(exist_ok=True)
    current = pages()
    for stale in folder.glob("kgroup*.[15]"):
        if stale.name not in current:
            stale.unlink()
    for name, text in current.items():
        (folder / name).write_text(text, encoding="utf-8")


if __name__ == "__main__":
    main()
