"""Values of settings as text: what a broker reads in them, and says of wrong ones (Kafka's `ConfigDef`)."""

import math
import re
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

_INT: Final = (1 << 31) - 1
_LONG: Final = (1 << 63) - 1
_WHOLE_NUMBER: Final = re.compile(r"[+-]?\d+")
_DECIMAL: Final = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?[fFdD]?")
_HEXADECIMAL: Final = re.compile(r"[+-]?0[xX][0-9a-fA-F]*\.?[0-9a-fA-F]*[pP][+-]?[0-9]+[fFdD]?")
_NO_NUMBERS: Final = re.compile(r"[+-]?(?:NaN|Infinity)")
_LETTERS_MAX: Final = 200  # of a number


@dataclass(frozen=True, slots=True)
class ConfigRule:
    """The rule for a setting: its type, a number's bounds, or the values of a choice."""

    kind: str = "INT"
    lowest: float | None = None
    highest: float | None = None
    choices: tuple[str, ...] = ()


def value_problem(rule: ConfigRule, value: str) -> str | None:
    """The reason a setting cannot have this value, or None: the end of `ConfigDef`'s message about it."""
    if rule.kind == "BOOLEAN":
        flag = value.lower() in ("true", "false")
        return None if flag else "Expected value to be either true or false"
    if rule.kind == "STRING":
        wrong = rule.choices and value not in rule.choices
        return f"String must be one of: {', '.join(rule.choices)}" if wrong else None
    number = double(value) if rule.kind == "DOUBLE" else whole_number(value)
    most = {"INT": _INT, "LONG": _LONG}.get(rule.kind)
    if number is None or (most is not None and not -most - 1 <= number <= most):
        return f"Not a number of type {rule.kind}"
    if rule.lowest is not None and number < rule.lowest:
        return f"Value must be at least {rule.lowest}"
    if rule.highest is not None and number > rule.highest:
        return f"Value must be no more than {rule.highest}"
    return None


def whole_number(text: str) -> int | None:
    """The number that Java's `Integer.parseInt` reads: decimal digits of any script, no underscores."""
    return int(text) if _WHOLE_NUMBER.fullmatch(text) and len(text) <= _LETTERS_MAX else None


def double(text: str) -> float | None:
    """The number that Java's `Double.parseDouble` reads."""
    if _DECIMAL.fullmatch(text):
        return float(text.rstrip("fFdD"))
    if _HEXADECIMAL.fullmatch(text):
        try:
            return float.fromhex(text.rstrip("fFdD"))
        except (ValueError, OverflowError):
            return None
    return float(text) if _NO_NUMBERS.fullmatch(text) else None


def java_double(number: float) -> str:
    """As Java's `Double.toString`: 0.1, 1.0E30."""
    if math.isnan(number):
        return "NaN"
    if math.isinf(number):
        return "Infinity" if number > 0 else "-Infinity"
    if number == 0 or 1e-3 <= abs(number) < 1e7:
        return repr(number)
    sign, digits, exponent = Decimal(repr(number)).normalize().as_tuple()
    first, rest = str(digits[0]), "".join(map(str, digits[1:])) or "0"
    return f"{'-' if sign else ''}{first}.{rest}E{int(exponent) + len(digits) - 1}"


def list_items(value: str) -> list[str]:
    """The items of a setting that is a list, of which some may be empty; none if all of it is blank."""
    return [item.strip() for item in value.split(",")] if value.strip() else []
