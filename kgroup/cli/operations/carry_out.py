"""Shows a planned operation and, with --execute, runs it: the end of all commands that change offsets."""

import shlex
import time
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from kgroup.cli.operations.options import Execution
from kgroup.cli.options.undo_folder import default_undo_path
from kgroup.cli.shell.say import say
from kgroup.errors import SourceError
from kgroup.operations.outcomes import Result
from kgroup.report.emit import OutputFormat, OutputOptions, emit
from kgroup.report.progress import TerminalProgress
from kgroup.report.table import counted

if TYPE_CHECKING:
    from kgroup.api.operations.execute import Executed
    from kgroup.api.operations.planned import PlannedOperation
    from kgroup.net.admin.cluster import Cluster
    from kgroup.net.connect.properties import ConnectionOptions


def carry_out(
    cluster: "Cluster",
    connection: "ConnectionOptions",
    planned: "PlannedOperation",
    execution: Execution,
    output: OutputOptions,
    *,
    quiet: bool,
) -> None:
    """Show the plan, or do it and show how it ended. Raises SourceError if not all of it was done."""
    if not quiet:
        for note in planned.notes:
            say(note)
    if not planned.steps:
        _show(planned, None, output)
        if not quiet:
            say("nothing is to be done")
        return
    if not execution.execute:
        _show(planned, None, output)
        if not quiet:
            say("dry run: nothing is changed; --execute does it")
        return
    from kgroup.api.operations.execute import execute

    now_ms = int(time.time() * 1000)
    path = execution.undo_file or _default_path(planned, now_ms)
    say(f"undo file: {path}")
    try:
        executed = execute(cluster, planned, path, now_ms=now_ms, progress=TerminalProgress(quiet=quiet))
    except KeyboardInterrupt:
        say(f"interrupted; what was done is undone by: {undo_command(connection, path)}")
        raise
    _show(planned, executed, output)
    if executed.is_done:
        if not quiet:
            say(f"done, and read back: {_extent(planned)}; undo: {undo_command(connection, path)}")
        return
    raise SourceError(_failure(executed, undo_command(connection, path)))


def undo_command(connection: "ConnectionOptions", path: Path) -> str:
    """The command line that undoes it, without what may be secret."""
    words = ["kgroup", "reset-offsets", "-b", connection.bootstrap_servers]
    if connection.command_config is not None:
        words += ["--command-config", str(connection.command_config)]
    return shlex.join([*words, "--undo", str(path)])


def _show(planned: "PlannedOperation", executed: "Executed | None", output: OutputOptions) -> None:
    from kgroup.report.operation_rows import PLAN_COLUMNS, RESULT_COLUMN, plan_rows, plan_table, table_rows

    results = None
    if executed is not None:
        results = {change: outcome.text() for change, outcome in executed.outcomes.items()}
    if output.format is OutputFormat.TABLE:
        others = any(row.others for row in planned.rows)
        if planned.rows:
            several = len({row.change.group for row in planned.rows}) > 1
            columns = plan_table(is_done=results is not None, others=others, several=several)
            emit(table_rows(planned.rows, results), columns, output)
        return
    fields = PLAN_COLUMNS if results is None else (*PLAN_COLUMNS, RESULT_COLUMN)
    emit(plan_rows(planned.rows, results), fields, output)


def _default_path(planned: "PlannedOperation", now_ms: int) -> Path:
    try:
        return default_undo_path(planned, now_ms)
    except SourceError as error:
        raise SourceError(f"{error}; give --undo-file") from error


def _extent(planned: "PlannedOperation") -> str:
    changes = sum(len(step.changes) for step in planned.steps)
    groups = {step.group for step in planned.steps}
    return f"{counted(changes, 'offset')} of {counted(len(groups), 'group')}"


def _failure(executed: "Executed", undo: str) -> str:
    counts = Counter(outcome.result for outcome in [*executed.outcomes.values(), *executed.groups.values()])
    first = next(
        (
            f"{change.topic}-{change.partition}: {outcome.why}"
            for change, outcome in executed.outcomes.items()
            if outcome.why
        ),
        None,
    )
    reason = executed.stopped or first
    ended = ", ".join(f"{count} {result.value}" for result, count in sorted(counts.items()))
    if counts.keys() <= {Result.REFUSED, Result.NOT_TRIED}:
        return f"nothing was done ({ended}): {reason}"
    return f"not all of it was done ({ended}): {reason}; what was done is undone by: {undo}"
