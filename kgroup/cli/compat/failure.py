"""Failures at run time, reported in the tool's own form; like the tool, it still exits with 0."""

import sys

_ERRORS = "org.apache.kafka.common.errors."


class ToolError(Exception):
    """An error that the tool prints as `Error: Executing consumer group command failed due to ...`.

    `trace` is the first line of the stack trace that it writes to standard error.
    """

    def __init__(self, message: str, trace: str | None = None) -> None:
        super().__init__(message)
        self.message = message
        self.trace = trace

    @classmethod
    def of_future(cls, exception: str, message: str) -> "ToolError":
        """The error for one of Kafka's exceptions (its class name), as a future of the client throws it."""
        cause = f"{_ERRORS}{exception}: {message}"
        return cls(cause, f"java.util.concurrent.ExecutionException: {cause}")

    def within_runtime_exception(self) -> "ToolError":
        """The same where the tool throws it on, in a RuntimeException."""
        return ToolError(self.trace or self.message, f"java.lang.RuntimeException: {self.trace}")


def print_error(message: str) -> None:
    """Print as the tool's `printError` does, to standard output."""
    print(f"\nError: {message}")


def print_failure(failure: ToolError) -> None:
    """Print how the tool ends that fails while it runs."""
    print_error(f"Executing consumer group command failed due to {failure.message}")
    if failure.trace is not None:
        sys.stdout.flush()
        print(failure.trace, file=sys.stderr)
