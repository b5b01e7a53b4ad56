"""Pieces of man pages, in roff as `man(7)` describes it."""

import re
from collections.abc import Iterable, Iterator

from kgroup import __version__

RELEASED = "2026-11-21"
"""The date at the foot of the pages: that of the version."""


def page(lines: Iterable[str]) -> str:
    """A whole page, with a note where it comes from."""
    return "\n".join(['.\\" Written by python -m kgroup.cli.man from the live help.', *lines]) + "\n"


def head(title: str, chapter: int, summary: str) -> Iterator[str]:
    """The title line and the section NAME."""
    yield f'.TH {title.upper()} {chapter} {RELEASED} "kgroup {__version__}" "kgroup"'
    yield from section("NAME", [f"{escaped(title)} \\- {escaped(summary.rstrip('.'))}"])


def section(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A section, or nothing where there are no lines."""
    body = list(lines)
    if body:
        yield f".SH {title}"
        yield from body


def definitions(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Terms (in roff already) and what they mean."""
    for form, why in entries:
        yield from (".TP", form, escaped(why))


def bold(text: str) -> str:
    """Text to type as it is."""
    return f"\\fB{escaped(text)}\\fR"


def italic(text: str) -> str:
    """Text to put something in the place of."""
    return f"\\fI{escaped(text)}\\fR"


def verbatim(lines: Iterable[str]) -> Iterator[str]:
    """Lines that stay as they are."""
    yield from (".nf", *map(escaped, lines), ".fi")


def paragraphs(text: str) -> list[str]:
    """The parts of `text` between empty lines."""
    return [paragraph for paragraph in text.strip().split("\n\n") if paragraph.strip()]


def filled(texts: Iterable[str]) -> Iterator[str]:
    """Paragraphs; one that begins with click's mark stays as it is, line by line."""
    for number, paragraph in enumerate(texts):
        if number:
            yield ".PP"
        if paragraph.startswith("\b"):
            yield from verbatim(paragraph.splitlines()[1:])
        else:
            yield escaped(" ".join(paragraph.split()))


def escaped(text: str) -> str:
    """`text` with what roff would take for a command or a typographic sign as itself."""
    plain = text.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", plain)
