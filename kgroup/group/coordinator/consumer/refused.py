"""Reasons for refusing a member's request."""

from kgroup.protocol.error_codes import ErrorCode


class Refused(Exception):  # noqa: N818  it is an answer, not a fault
    """The request changes nothing, and is answered with `error` and these words, if any."""

    def __init__(self, error: ErrorCode, words: str) -> None:
        super().__init__(words)
        self.error = error
        self.words = words
