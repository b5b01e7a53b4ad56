"""What a command has to say beside its results: lines on standard error."""

import sys
from collections.abc import Sized

from kgroup.errors import FindingsError
from kgroup.report.table import printable


def say(line: str) -> None:
    """Print a line; what a terminal might obey, as in a client's id, shows as an escape."""
    print(f"kgroup: {printable(line)}", file=sys.stderr, flush=True)


def fail_if_strict(problems: Sized, *, strict: bool) -> None:
    """Raises FindingsError if there are problems of reading and --strict asks for it."""
    if strict and len(problems):
        raise FindingsError(f"damaged or undecodable places: {len(problems)}")
