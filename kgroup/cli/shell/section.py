"""The sections of a command's help, in the same order for every command, and the options in them."""

from collections.abc import Callable
from enum import StrEnum
from typing import Any

import typer


class Section(StrEnum):
    """The subject of an option; its `rich_help_panel`."""

    SOURCE = "Source"
    SELECTION = "Selection"
    SETUP = "Setup"
    SHOWN = "What to show"
    OUTPUT = "Output"
    BEHAVIOUR = "Behaviour"
    SPARK = "Spark"


def option(
    *names: str,
    metavar: str | None = None,
    min: float | None = None,  # noqa: A002 (typer's word, as the next ones)
    max: float | None = None,  # noqa: A002
    help: str,  # noqa: A002
    section: Section,
    show_default: bool = False,
    autocompletion: Callable[..., Any] | None = None,
    callback: Callable[..., Any] | None = None,
    hidden: bool = False,
    is_eager: bool = False,
) -> Any:  # the type that typer's own Option claims
    """An option for `Annotated`, in a section; help shows its default only with `show_default`.

    What `is_eager` is known to the callbacks of all that is not, wherever it stands.
    """
    return typer.Option(
        *names,
        metavar=metavar,
        min=min,
        max=max,
        help=help,
        rich_help_panel=section,
        show_default=show_default,
        autocompletion=autocompletion,
        callback=callback,
        hidden=hidden,
        is_eager=is_eager,
    )
