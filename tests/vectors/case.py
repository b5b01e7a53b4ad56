"""One question with a known answer, and whether kgroup gave it."""

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Case:
    """`failure` is None when kgroup's answer equals the known one, else what differs."""

    name: str
    failure: str | None = None


class VectorError(Exception):
    """A file that is not in the format of its kind."""
