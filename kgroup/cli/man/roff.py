"""Building blocks of man pages in roff, as `man(7)` describes it: lines in, lines out."""

import re
from collections.abc import Iterable, Iterator
from typing import Final

from kgroup.version import __version__

RELEASED: Final = "2026-11-21"
"""The date at the foot of the pages: that of the version."""


def page(lines: Iterable[str], source: str) -> str:
    """A whole page; `source` says what it was written from."""
    return "\n".join([f'.\\" Written by python -m kgroup.cli.man from {source}.', *lines]) + "\n"


def head(title: str, summary: str, *, section: int = 1) -> Iterator[str]:
    """The title line and the NAME that `whatis` and `apropos` look for."""
    yield f'.TH {title.upper()} {section} {RELEASED} "kgroup {__version__}" "kgroup"'
    yield from under("NAME", [f"{text(title)} \\- {text(summary.rstrip('.'))}"])


def under(title: str, lines: Iterable[str]) -> Iterator[str]:
    """A section, unless there is nothing in it."""
    body = list(lines)
    if body:
        yield f".SH {title}"
        yield from body


def definitions(entries: Iterable[tuple[str, str]]) -> Iterator[str]:
    """Terms, already roff, and the explanation of each."""
    for form, why in entries:
        yield from (".TP", form, text(why))


def paragraphs(texts: Iterable[str]) -> Iterator[str]:
    """Paragraphs; one that begins with `\\b`, click's mark, keeps its lines as they are."""
    for number, paragraph in enumerate(texts):
        if number:
            yield ".PP"
        if paragraph.startswith("\b"):
            yield from as_is(paragraph.splitlines()[1:])
        else:
            yield text(" ".join(paragraph.split()))


def as_is(lines: Iterable[str]) -> Iterator[str]:
    """Lines that nothing may fill or join."""
    yield from (".nf", *map(text, lines), ".fi")


def text(plain: str) -> str:
    """`plain` with what roff would take for a command or a typographic sign as itself."""
    escaped = plain.replace("\\", "\\e").replace("-", "\\-")
    return re.sub(r"^(?=[.'])", r"\\&", escaped)
