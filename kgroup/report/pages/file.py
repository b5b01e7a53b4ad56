"""Files for people to look at: a page made from a template and data, or any text."""

import json
import re
from collections.abc import Iterable
from importlib.resources import files
from pathlib import Path
from typing import Final

from kgroup.report.destination import new_file
from kgroup.report.table import printable

_DATA_MARK: Final = "/*DATA*/null"
_FILE_MARK: Final = re.compile(r"/\*FILE ([a-z.]+)\*/")


def write_page(template: str, data: object, path: Path) -> None:
    """Write the template of that name next to this module, with `data` (of JSON's types) in its script.

    `/*FILE name*/` in the template stands for a file next to it, so the page needs no network. Raises
    SourceError if the file cannot be written.
    """
    text = json.dumps(_printable(data), separators=(",", ":"))
    # Inside a script element only these could end it, or start another.
    text = text.replace("<", "\\u003c").replace(">", "\\u003e").replace("&", "\\u0026")
    page = _FILE_MARK.sub(lambda mark: _asset(mark[1]), _asset(template))
    write_text([page.replace(_DATA_MARK, text)], path)


def _asset(name: str) -> str:
    return files("kgroup.report.pages").joinpath(name).read_text(encoding="utf-8")


def _printable(data: object) -> object:
    """`data` whose names are `printable`: a browser obeys a name's bidirectional marks as a terminal does."""
    match data:
        case str():
            return printable(data)
        case list() | tuple():
            return [_printable(each) for each in data]
        case dict():
            return {_printable(key): _printable(each) for key, each in data.items()}
        case _:
            return data


def write_text(parts: Iterable[str], path: Path) -> None:
    """Write text as UTF-8. Raises SourceError if the file cannot be written."""
    write_bytes((part.encode("utf-8", "backslashreplace") for part in parts), path)


def write_bytes(parts: Iterable[bytes], path: Path) -> None:
    """Write the parts one after another. Raises SourceError if the file cannot be written."""
    with new_file(path) as name, name.open("wb") as file:
        for part in parts:
            file.write(part)
