"""`kgroup reenact`: play a group's past again, on brokers that your own client can join."""

import asyncio
import signal
import time
from contextlib import ExitStack
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Annotated, Final

import typer

from kgroup.cli.options.period import Period
from kgroup.cli.options.reenact import RULES, Stage
from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.option_checks import check_options, given_options
from kgroup.cli.shell.options import Output, Quiet, Source
from kgroup.cli.shell.say import say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import opened
from kgroup.durations import lasting
from kgroup.errors import InputError
from kgroup.report.destination import require_empty
from kgroup.report.emit import OutputFormat, emit
from kgroup.report.progress import TerminalProgress

if TYPE_CHECKING:
    from kgroup.api.reenact import Reenactment
    from kgroup.history.reenactment.model import Act, PlannedMember

EXAMPLES: Final = (
    Example(
        "What would be played: which members come and go, and when",
        "kgroup reenact fixtures/3.9.1/lives --group orders-app --plan",
    ),
    Example(
        "On a virtual clock, and how close it comes to the log",
        "kgroup reenact fixtures/3.9.1/lives --group orders-app --virtual --score",
    ),
    Example(
        "Live and twice as fast, on a free port, with a place for a client of your own",
        "kgroup reenact fixtures/3.9.1/lives --group orders-app --speed 2 --replace grow-2 "
        "--listen 127.0.0.1:0",
    ),
    Example(
        "A quarter of an hour of a live cluster, keeping the log for replay",
        "kgroup reenact -b localhost:9092 --group billing --since 15m --keep again",
    ),
)
_SIGNALS: Final = (signal.SIGINT, signal.SIGTERM)


def reenact(
    *,
    context: typer.Context,
    source: Source,
    group: Annotated[
        str | None,
        option("--group", metavar="GROUP", help="The group, a classic one.", section=Section.SELECTION),
    ] = None,
    period: Annotated[Period, Bundle(Period)],
    stage: Annotated[Stage, Bundle(Stage)],
    plan: Annotated[
        bool,
        option("--plan", help="Show the plan without playing it.", section=Section.SHOWN),
    ] = False,
    scored: Annotated[
        bool,
        option(
            "--score",
            help="At the end, replay the new log and count the generations that match the old one.",
            section=Section.SHOWN,
        ),
    ] = False,
    output: Output,
    quiet: Quiet = False,
) -> None:
    """Play a group's past again.

    From __consumer_offsets: the topics, which members joined, left, died, stopped polling or restarted and
    when, and each commit at its time. Brokers like those of serve run in this process, members like those
    of join come and go, and records are produced as the commits show them. Prints `ready HOST:PORT`, then
    each act as it happens, and ends when the plan is over or on Ctrl-C.

    --replace leaves a member out: point the client you are debugging at the printed address when it is its
    turn. --speed divides times and timeouts; no session is shorter than a second. Only groups of the
    classic protocol can be played; docs/reenact.md says how close the result comes, and what no log shows.
    """
    from kgroup.api.reenact import plan_reenactment, reenact_virtually
    from kgroup.report.reenactment import ACT_COLUMNS, ACT_TABLE, act_line, act_rows, score_line

    check_options(RULES, given_options(context))
    if group is None:
        raise InputError("no --group given: the group to play again")
    now_ms = int(time.time() * 1000)
    since_ms, until_ms = period.times(now_ms)
    speed, partitions = stage.checked_speed(), stage.partitions()
    stage.listeners(nodes=1)  # an invalid address is reported before anything is read
    with opened(source) as logs:
        made = plan_reenactment(
            logs,
            group,
            since_ms=since_ms,
            until_ms=until_ms,
            partitions=partitions,
            progress=TerminalProgress(quiet=quiet),
        )
    for line in [*made.problems, *([] if quiet else made.plan.notes)]:
        say(line)
    if plan:
        table = output.format is OutputFormat.TABLE
        emit(act_rows(made.plan, table=table), ACT_TABLE if table else ACT_COLUMNS, output)
        return
    if output.format is not OutputFormat.TABLE:
        raise InputError(f"-o {output.format.value}: only --plan has rows")
    if stage.virtual:

        def tell(act: "Act") -> None:
            if not quiet and _is_told(act):
                print(act_line(act))

        score = reenact_virtually(made, stage.keep, on_act=tell, warn=say)
        if scored:
            print(score_line(made.plan.group_id, score))
        return
    with ExitStack() as stack:
        keep = stage.keep
        if keep is not None:
            require_empty(keep, "--keep")
        elif scored:
            keep = Path(stack.enter_context(TemporaryDirectory(prefix="kgroup-")))
        if asyncio.run(_play(made, stage, speed, keep, quiet=quiet)) and scored and keep is not None:
            print(score_line(made.plan.group_id, made.score_of(keep)))


def _is_told(act: "Act") -> bool:
    from kgroup.history.reenactment.model import CommitOffsets, Produce

    return not isinstance(act, CommitOffsets | Produce)


async def _play(made: "Reenactment", stage: Stage, speed: float, keep: Path | None, *, quiet: bool) -> bool:
    from kgroup.history.reenactment.model import MoveCoordinator
    from kgroup.net.reenact.stage import Stage as Played
    from kgroup.net.reenact.stage import settings_of, topics_of
    from kgroup.net.serve.running import start_cluster
    from kgroup.report.reenactment import act_line

    plan = made.plan
    replaced = None if stage.replaced is None else made.member(stage.replaced)
    nodes = 2 if any(isinstance(act, MoveCoordinator) for act in plan.acts) else 1
    stop = asyncio.Event()
    loop = asyncio.get_running_loop()
    for number in _SIGNALS:
        loop.add_signal_handler(number, stop.set)
    server = await start_cluster(
        settings=settings_of(plan, speed),
        nodes=nodes,
        listeners=stage.listeners(nodes),
        data_dir=keep,
        topics=topics_of(plan),
        warn=say,
    )

    def tell(act: "Act") -> None:
        turn = None if replaced is None else _turn_of(replaced, act, server.bootstrap, plan.group_id)
        if turn is not None:
            print(turn, flush=True)
        elif not quiet:
            print(act_line(act), flush=True)

    try:
        print("ready", server.bootstrap, flush=True)
        played = Played(plan, server, speed=speed, replaced=replaced, tell=tell, say=say)
        if replaced is not None:
            for line in _turns(replaced, made, speed):
                print(line, flush=True)
        return await played.play(stop)
    finally:
        server.stop()


def _turns(replaced: "PlannedMember", made: "Reenactment", speed: float) -> list[str]:
    """A line on when the user's own client joins, said before it does."""
    from kgroup.history.reenactment.model import Join

    at = [act.at_ms for act in made.plan.acts if isinstance(act, Join) and act.member == replaced.name]
    times = ", ".join(lasting(round(at_ms / speed)) for at_ms in at)
    return [f"yours is {replaced.name}: it joins after {times}"]


def _turn_of(replaced: "PlannedMember", act: "Act", bootstrap: str, group_id: str) -> str | None:
    """The instruction for the user's own client now; None for another member's act."""
    from kgroup.history.reenactment.model import Grow, Join, MoveCoordinator, Produce
    from kgroup.report.reenactment import act_line

    if isinstance(act, Produce | Grow | MoveCoordinator) or act.member != replaced.name:
        return None
    if not isinstance(act, Join):
        return f"yours: {act_line(act).strip()}"
    settings = {
        "bootstrap.servers": bootstrap,
        "group.id": group_id,
        "client.id": replaced.client_id,
        "group.instance.id": replaced.instance_id,
        "partition.assignment.strategy": ",".join(act.assignors),
        "topics": ",".join(act.topics),
    }
    named = " ".join(f"{name}={value}" for name, value in settings.items() if value)
    return f"yours: join now: {named}"
