"""A command line of kafka-consumer-groups, parsed as Kafka 4.3's JOpt Simple parses it."""

from collections.abc import Sequence
from dataclasses import dataclass, field
from enum import Enum
from typing import Final


class ToolUsageError(Exception):
    """A command line that the tool refuses: the message goes to standard error, and the status is 1."""


class _Takes(Enum):
    NOTHING = "nothing"
    ONE = "one"
    PERHAPS = "perhaps"


_OPTIONS: Final = {
    "bootstrap-server": _Takes.ONE,
    "command-config": _Takes.ONE,
    "timeout": _Takes.ONE,
    "group": _Takes.ONE,
    "all-groups": _Takes.NOTHING,
    "topic": _Takes.ONE,
    "all-topics": _Takes.NOTHING,
    "list": _Takes.NOTHING,
    "describe": _Takes.NOTHING,
    "delete": _Takes.NOTHING,
    "reset-offsets": _Takes.NOTHING,
    "delete-offsets": _Takes.NOTHING,
    "validate-regex": _Takes.ONE,
    "members": _Takes.NOTHING,
    "offsets": _Takes.NOTHING,
    "state": _Takes.PERHAPS,
    "type": _Takes.PERHAPS,
    "verbose": _Takes.NOTHING,
    "dry-run": _Takes.NOTHING,
    "execute": _Takes.NOTHING,
    "export": _Takes.NOTHING,
    "to-offset": _Takes.ONE,
    "from-file": _Takes.ONE,
    "to-datetime": _Takes.ONE,
    "by-duration": _Takes.ONE,
    "to-earliest": _Takes.NOTHING,
    "to-latest": _Takes.NOTHING,
    "to-current": _Takes.NOTHING,
    "shift-by": _Takes.ONE,
    "help": _Takes.NOTHING,
    "version": _Takes.NOTHING,
}
_ONLY_WITH: Final = {
    "members": {"describe"},
    "verbose": {"describe"},
    "offsets": {"describe"},
    "state": {"describe", "list"},
    "type": {"list"},
}
"""Options that exist only together with one of these."""


@dataclass(frozen=True, slots=True)
class Given:
    """The options that were given, by name without dashes, each with its values in their order."""

    options: dict[str, list[str]] = field(default_factory=dict)

    def has(self, name: str) -> bool:
        """Whether the option is there."""
        return name in self.options

    def all(self, name: str) -> list[str]:
        """All values of an option."""
        return self.options.get(name, [])

    def one(self, name: str) -> str | None:
        """The option's value; None if it is missing or has no value."""
        values = self.all(name)
        return values[-1] if values else None


def parse(arguments: Sequence[str]) -> Given:
    """Read a command line. Words that belong to no option are passed over, as the tool does.

    An option may begin with one dash, too, and one that needs a value takes the next word, whatever it is.
    Raises ToolUsageError, with what Java's own message is, for an option that there is not, one without its
    value, and one that does not go with the action.
    """
    options: dict[str, list[str]] = {}
    words = list(arguments)
    while words:
        word = words.pop(0)
        if word == "--":
            break
        if not word.startswith("-") or word == "-":
            continue
        name, equals, value = word.removeprefix("-").removeprefix("-").partition("=")
        if name not in _OPTIONS:
            unknown = name if word.startswith("--") else word[1]  # letters that are options by themselves
            raise _java("UnrecognizedOptionException", f"{unknown} is not a recognized option")
        values = options.setdefault(name, [])
        takes = _OPTIONS[name]
        if takes is _Takes.NOTHING:
            continue
        if equals:
            values.append(value)
        elif words and (takes is _Takes.ONE or _is_value(words[0])):
            values.append(words.pop(0))
        elif takes is _Takes.ONE:
            raise _java("OptionMissingRequiredArgumentException", f"Option {name} requires an argument")
    astray = [name for name in options if not _ONLY_WITH.get(name, options.keys()) & options.keys()]
    if astray:
        named = ", ".join(astray)
        raise _java(
            "UnavailableOptionException",
            f"Option(s) [{named}] are unavailable given other options on the command line",
        )
    return Given(options)


def _is_value(word: str) -> bool:
    """A word that begins with a dash is no value of an option that may stand without one."""
    return not word.startswith("-") or word == "-"


def _java(exception: str, message: str) -> ToolUsageError:
    return ToolUsageError(f'Exception in thread "main" joptsimple.{exception}: {message}')
