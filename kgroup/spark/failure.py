"""Spark's exceptions (pages of Java and Python stack) as one line with the cause."""

import re
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Final

from py4j.protocol import Py4JError, Py4JJavaError, Py4JNetworkError
from pyspark.errors import PySparkException

from kgroup.errors import KgroupError

# The last line of a Python traceback that Spark quotes: "kgroup.errors.SourceError: x.log: cannot be read".
_PYTHON_CAUSE: Final = re.compile(
    r"^(?P<type>[A-Za-z_][\w.]*(?:Error|Exception|Interrupt|Warning)): (?P<why>.+)$", re.MULTILINE
)

_GONE: Final = "Spark's driver process has ended; short of memory? Try --spark-conf spark.driver.memory=4g"

_TOO_MUCH: Final = re.compile(r"serialized results of .* \((?P<size>[^)]+)\) is bigger than .*maxResultSize")

_NOT_THERE: Final = "No module named 'kgroup'"
_SHIP: Final = "; --ship sends it to executors"

_NOT_STARTED: Final = (
    "its Java ended at once, as it says above; is spark.driver.memory more than this machine has?"
)


# What Spark says of a Python worker that did not start within ten seconds, and such a worker of Spark.
_TOO_LATE: Final = ("Python worker failed to connect back", "CANNOT_OPEN_SOCKET")


_NO_ROOM: Final = ("Java heap space", "GC overhead limit exceeded")


def says_nothing_of_files(error: PySparkException | Py4JError) -> bool:
    """Whether the driver has ended, or has no room for what it was to read: that may be as it should."""
    if isinstance(error, Py4JNetworkError):
        return True
    text = _text(error)
    return _TOO_MUCH.search(text) is not None or any(each in text for each in _NO_ROOM)


def was_slow(error: KgroupError) -> bool:
    """Whether it is Spark's giving up on a Python worker that a busy machine was slow to start."""
    return any(text in str(error) for text in _TOO_LATE)


@contextmanager
def raised_as_kgroup_error(failure: str) -> Iterator[None]:
    """Raise any error of Spark inside as a KgroupError "`failure`: the cause"."""
    try:
        yield
    except (ConnectionRefusedError, ConnectionResetError, EOFError, Py4JNetworkError) as error:
        raise KgroupError(f"{failure}: {_GONE}") from error
    except (PySparkException, Py4JError) as error:
        raise KgroupError(f"{failure}: {cause_of(error)}") from error


def cause_of(error: PySparkException | Py4JError) -> str:
    """The line that says what went wrong, with advice where there is some."""
    text = _text(error)
    if "JAVA_GATEWAY_EXITED" in text:
        return _NOT_STARTED
    too_much = _TOO_MUCH.search(text)
    if too_much:
        return (
            f"what executors have found, {too_much['size']} and more, is too much for the driver's memory;"
            " try --spark-conf spark.driver.memory=4g"
        )
    no_room = next((each for each in _NO_ROOM if each in text), None)
    if no_room is not None:
        return f"{no_room}; try --spark-conf spark.driver.memory=4g, on a cluster also spark.executor.memory"
    python = _PYTHON_CAUSE.findall(text)
    if python:
        kind, why = map(str, python[-1])
        if kind.startswith("kgroup.errors."):
            return why
        hint = _SHIP if why == _NOT_THERE else ""
        return f"{kind.rpartition('.')[2]}: {why}{hint}"
    return next((line.strip() for line in text.splitlines() if line.strip()), type(error).__name__)


def _text(error: PySparkException | Py4JError) -> str:
    if not isinstance(error, Py4JJavaError):
        return str(error)
    cause = error.java_exception
    while cause.getCause() is not None:
        cause = cause.getCause()
    return str(cause.getMessage() or cause.toString())
