"""The examples of a command: shown in `--help` and the man page, and run by tests."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Example:
    """One call, as typed after the prompt, and what it is for."""

    purpose: str
    call: str
