"""Typer's usage errors in one line, like all other errors of kgroup."""

import re
from collections.abc import Iterable
from difflib import get_close_matches
from typing import Any, Final

import typer
from typer.exceptions import TyperException

from kgroup.errors import did_you_mean

_SUGGESTED_MAX: Final = 3
_NO_NUMBER: Final = re.compile(r"'.*' is not a valid (?P<kind>int(eger)?|float)( range)?\.?$", re.DOTALL)
_OUT_OF_RANGE: Final = re.compile(
    r"(?P<given>\S+) is not in the range ((?P<least>[^<>=]+)<=)?x((?P<sign>[<>])=(?P<bound>[^<>=]+?))?\.?$"
)
_CHOICE: Final = re.compile(r"'(?P<given>.*)' is not one of (?P<known>.*?)\.?$", re.DOTALL)


def usage_error_line(error: TyperException) -> str:
    """The place and the cause, the nearest right word if there is one, and whose help to read."""
    context: Any = getattr(error, "ctx", None)
    see = f"{context.command_path} --help" if context is not None else "kgroup --help"
    return f"{_cause(error)} (see {see})"


def _cause(error: TyperException) -> str:
    parameter: Any = getattr(error, "param", None)
    option = str(getattr(error, "option_name", ""))
    if hasattr(error, "possibilities"):  # only an option that there is not has them
        return f"no such option: {option}{did_you_mean_one(option, _options(error))}"
    if not isinstance(error, typer.BadParameter) or parameter is None or not error.message:
        # Without the possibilities that typer found, which are in brackets.
        said = " ".join(error.format_message().partition(" (Possible")[0].rstrip(".").split())
        return said[:1].lower() + said[1:]
    form = "/".join(parameter.opts) if parameter.param_type_name == "option" else str(parameter.metavar)
    return f"{form}: {_reason(error.message)}"


def did_you_mean_one(given: str, known: Iterable[str]) -> str:
    """`; did you mean lag or lag-report?` for a name that is cut short, a part of one, or misspelt."""
    plain = {name: name.strip("-") for name in known}
    wanted = given.strip("-").replace("_", "-").lower()
    near = [name for name, text in plain.items() if wanted and text.startswith(wanted)]
    near = near or [name for name, text in plain.items() if wanted in text.split("-")]
    near = near or [
        name
        for alike in get_close_matches(wanted, plain.values(), n=1)
        for name, text in plain.items()
        if text == alike
    ]
    return f"; did you mean {' or '.join(near[:_SUGGESTED_MAX])}?" if near else ""


def _options(error: TyperException) -> list[str]:
    context: Any = getattr(error, "ctx", None)
    parameters = context.command.get_params(context) if context is not None else ()
    return [max(parameter.opts, key=len) for parameter in parameters if parameter.opts[0].startswith("-")]


def _reason(message: str) -> str:
    """The words of typer's validation, less those that speak of its own workings."""
    plain = message.removeprefix("Value error, ").partition(", unable to parse")[0]
    if no_number := _NO_NUMBER.match(plain):
        kind = "integer" if no_number["kind"].startswith("int") else "number"
        return f"input should be a valid {kind}"
    if outside := _OUT_OF_RANGE.match(plain):
        return _out_of_range(outside["given"], outside["least"], outside["sign"], outside["bound"])
    choice = _CHOICE.match(plain)
    if choice is None:
        return plain[:1].lower() + plain[1:]
    known = re.findall(r"'([^']*)'", choice["known"])
    return f"{choice['given']!r} is not one of {', '.join(known)}{did_you_mean(choice['given'], known)}"


def _out_of_range(given: str, least: str | None, sign: str | None, bound: str | None) -> str:
    """The error for a value out of range; a bound that stands alone may be the lower one (`x>=1`)."""
    if least is None and sign == ">":
        least, bound = bound, None
    if bound is None or (least is not None and float(given) < float(least)):
        return f"input should be greater than or equal to {least}"
    return f"input should be less than or equal to {bound}"
