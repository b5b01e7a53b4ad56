"""`lag-report --cluster-path`: several clusters in one report; a bad one does not fail the others.

On Spark their jobs run side by side in one session, so that executors have work while one cluster's log ends
are found here. Without Spark they are read one after the other.
"""

from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Final

from kgroup.cli.lag.fail_on import FailOn
from kgroup.cli.lag.request import LagRequest
from kgroup.cli.lag.spark import said_saved, save_batches, spark_session
from kgroup.cli.lag.spool import FINDINGS, ROWS, Spool, arrow_together, emit_together
from kgroup.cli.shell.say import overheard, say
from kgroup.cli.shell.source import Given
from kgroup.errors import FindingsError, InputError, KgroupError, NoMatchError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

SIDE_BY_SIDE: Final = 8
"""Clusters at a time: each has a part in Python here, besides its jobs."""

AnswerOne = Callable[[LagRequest, "SparkSession | None"], Sequence[str]]
"""Answers for one cluster; what could not be read is returned."""


@dataclass(frozen=True, slots=True, kw_only=True)
class _Answered:
    """The outcome for one cluster; `spool` is None if it cannot be read, or nothing there matches."""

    cluster: str
    spool: Spool | None
    lines: Sequence[str]
    problems: Sequence[str]
    failing: FailOn
    no_match: str | None = None

    @property
    def found(self) -> str | None:
        """The line on what --fail-on has found, if anything."""
        try:
            self.failing.check()
        except FindingsError as error:
            return f"cluster {self.cluster}: {error}"
        return None


def report_fleet(request: LagRequest, answer: AnswerOne) -> tuple[str, ...]:
    """Answer for all clusters, and write their rows together. Returns what could not be read, having said it.

    Raises FindingsError for what --fail-on asks to fail on, KgroupError if no cluster can be read, and
    NoMatchError if none has what was asked for.
    """
    with ExitStack() as stack:
        folder = Path(stack.enter_context(TemporaryDirectory(prefix="kgroup-clusters-")))
        session = stack.enter_context(spark_session(request.spark, request.progress, request.work))
        names = list(request.source.clusters)

        def answered(name: str) -> _Answered:
            return _answered(name, folder / str(names.index(name)), request, session, answer)

        activity = request.progress.activity(f"{len(names)} clusters are read")
        with activity, _mapped(side_by_side=session is not None) as mapped:
            all_of_them = list(mapped(answered, names))
        _say(all_of_them, quiet=request.quiet)
        spools = [each.spool for each in all_of_them if each.spool is not None]
        if not spools:
            raise _none_of(all_of_them)
        if session is not None and request.save_as is not None:
            _save(session, request.save_as, spools, quiet=request.quiet)
        else:
            emit_together(spools, request.output)
    found = [each.found for each in all_of_them if each.found is not None]
    if found:
        raise FindingsError("; ".join(found))
    return tuple(problem for each in all_of_them for problem in each.problems)


def _answered(
    name: str, folder: Path, request: LagRequest, session: "SparkSession | None", answer: AnswerOne
) -> _Answered:
    folder.mkdir()
    spool = Spool(name, folder)
    failing = replace(request.failing, _of_findings={}, _of_rows={})
    own = replace(
        request,
        source=Given(paths=request.source.clusters[name], connection=None),
        failing=failing,
        spool=spool,
    )
    with overheard() as lines:
        try:
            problems = answer(own, session)
        except InputError:  # which is not the cluster's fault
            raise
        except NoMatchError as error:
            return _Answered(
                cluster=name, spool=None, lines=lines, problems=(), failing=failing, no_match=str(error)
            )
        except KgroupError as error:
            problem = str(error)
            return _Answered(
                cluster=name, spool=None, lines=[*lines, problem], problems=[problem], failing=failing
            )
    return _Answered(cluster=name, spool=spool, lines=lines, problems=problems, failing=failing)


@contextmanager
def _mapped(*, side_by_side: bool) -> Iterator[Callable[..., Iterator[_Answered]]]:
    """A `map` that keeps the order."""
    if not side_by_side:
        yield map
        return
    pool = ThreadPoolExecutor(SIDE_BY_SIDE)
    try:
        yield pool.map
    finally:  # after Ctrl-C the session's end is what ends those that run
        pool.shutdown(wait=False, cancel_futures=True)


def _say(all_of_them: Sequence[_Answered], *, quiet: bool) -> None:
    for each in all_of_them:
        no_match = [] if each.no_match is None or quiet else [each.no_match]
        for line in (*each.lines, *no_match):
            say(f"cluster {each.cluster}: {line}")


def _none_of(all_of_them: Sequence[_Answered]) -> KgroupError:
    no_match = [each.no_match for each in all_of_them if each.no_match is not None]
    if len(no_match) == len(all_of_them):
        return NoMatchError("no cluster has a match")
    return KgroupError("no cluster could be read")


def _save(session: "SparkSession", name: str, spools: Sequence[Spool], *, quiet: bool) -> None:
    for kept, table in ((FINDINGS, f"{name}_findings"), (ROWS, name)):
        if kept in spools[0].columns:
            batches, columns = arrow_together(spools, kept)
            said_saved(table, save_batches(session, table, batches, columns), quiet=quiet)
