"""Plays the scenario of `kgroup simulate` and shows the result."""

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from kgroup.api.simulate import RUN_COLUMNS, Hear, SimulatedRun, run_row, simulate
from kgroup.api.simulated_seeds import ScenarioOf, simulate_seeds
from kgroup.cli.narrate.run_view import (
    history,
    known_lines,
    print_measures,
    print_run,
    print_seeds,
    print_title,
    violation_lines,
)
from kgroup.cli.narrate.story import Story
from kgroup.cli.narrate.trace_tracks import RunTracks
from kgroup.cli.shell.say import say
from kgroup.errors import FindingsError
from kgroup.report.destination import new_file, printing_to, require_empty
from kgroup.report.emit import OutputFormat, OutputOptions, Row, emit, emit_json, emit_lines, to_json
from kgroup.report.progress import TerminalProgress
from kgroup.report.trace_format import trace_lines
from kgroup.sim.designs import own_design, require_logs
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.watch.result import Run
from kgroup.sim.watch.trace import to_json as event_fields
from kgroup.sim.zookeeper.trace import ZookeeperEvent

_SHOWN_MAX = 20
# A process takes about as long to begin as it does to play some seeds.
_WORTH_PROCESSES = 20


@dataclass(frozen=True, slots=True, kw_only=True)
class Playing:
    """The scenario to play, and where its result goes. `explain`: narrate every step, too."""

    name: str
    scenario: Scenario
    seed: int
    output: OutputOptions
    quiet: bool
    explain: bool = False
    design: str | None = None
    """What a single run is played as; None: its own."""


# ---- one seed -------------------------------------------------------------------------------------


def play_once(playing: Playing, log_dir: Path | None, trace: Path | None, *, as_trace: bool = False) -> None:
    """Play the scenario as it is, shown as the output says, or `as_trace` for viewers of traces.

    Raises FindingsError if a checker found something.
    """
    if log_dir is not None:
        require_logs(playing.design or own_design(playing.scenario))
        require_empty(log_dir, "--log-dir")  # before the first line is printed
    with _events_to(trace) as write:
        match playing.output.format:
            case _ if as_trace:
                run = _write_trace(playing, log_dir, write)
            case OutputFormat.TABLE:
                with printing_to(playing.output.path):
                    run = _print_one(playing, log_dir, write)
            case OutputFormat.JSONL:
                run = _write_events(playing, log_dir, write)
            case OutputFormat.JSON:
                run = _play(playing, playing.design, log_dir, write)
                row = {**run_row(run, run.design), **history(run.chronicle)}
                _emit_object(playing, {"runs": [row], **_counts(playing, 1, [run])})
            case _:
                run = _play(playing, playing.design, log_dir, write)
                emit([run_row(run, run.design)], RUN_COLUMNS, playing.output)
    _judge(playing, [run])


def play_designs(playing: Playing, designs: Sequence[str]) -> None:
    """Play it as each of some designs. Raises FindingsError if a checker found something."""
    if playing.output.format is OutputFormat.TABLE:
        with printing_to(playing.output.path):
            print_title(playing.scenario, None, playing.seed)
            runs = []
            for design in designs:
                if playing.explain:
                    print(f"\n{design}:")
                story = Story(playing.scenario).print if playing.explain else None
                runs.append((design, _play(playing, design, None, story)))
            print()
            print_measures(runs, headers=playing.output.headers)
    else:
        runs = [(design, _play(playing, design, None, None)) for design in designs]
        _emit_runs(playing, runs)
    _judge(playing, [run for _, run in runs])


def _play(playing: Playing, design: str | None, log_dir: Path | None, hear: Hear | None) -> SimulatedRun:
    return simulate(
        playing.scenario,
        playing.seed,
        design=design,
        log_dir=log_dir,
        on_event=hear,
        warn=say,
        progress=TerminalProgress(quiet=playing.quiet or playing.explain),
    )


def _print_one(playing: Playing, log_dir: Path | None, write: Hear | None) -> SimulatedRun:
    print_title(playing.scenario, playing.design or own_design(playing.scenario), playing.seed)
    hearers = _some(write)
    if playing.explain:
        print()
        hearers.append(Story(playing.scenario).print)
    run = _play(playing, playing.design, log_dir, _each_of(hearers) if hearers else None)
    print_run(run, run.chronicle, headers=playing.output.headers)
    print()
    print_measures([("TOTAL", run)], headers=playing.output.headers)
    return run


def _write_trace(playing: Playing, log_dir: Path | None, write: Hear | None) -> SimulatedRun:
    tracks = RunTracks(playing.scenario)
    run = _play(playing, playing.design, log_dir, _each_of([tracks.hear, *_some(write)]))
    emit_lines(trace_lines(tracks.items(run.chronicle.generations(), run.end_ms)), playing.output)
    return run


def _some(write: Hear | None) -> list[Hear]:
    return [] if write is None else [write]


def _each_of(hearers: Sequence[Hear]) -> Hear:
    def hear(event: ZookeeperEvent) -> None:
        for each in hearers:
            each(event)

    return hear


def _write_events(playing: Playing, log_dir: Path | None, write: Hear | None) -> SimulatedRun:
    """JSON lines: every event as it happens, then the run with its counts."""
    with printing_to(playing.output.path):
        hear = _each_of([lambda event: print(_event_line(event)), *_some(write)])
        run = _play(playing, playing.design, log_dir, hear)
        print(to_json({"type": "RunEnded", **run_row(run, run.design), **_counts(playing, 1, [run])}))
    return run


def _event_line(event: ZookeeperEvent) -> str:
    return to_json(event_fields(event))


@contextmanager
def _events_to(path: Path | None) -> Iterator[Hear | None]:
    """Something that writes events into a file."""
    if path is None:
        yield None
        return
    with new_file(path) as name, name.open("w", encoding="utf-8") as stream:
        yield lambda event: print(_event_line(event), file=stream)


def _emit_runs(playing: Playing, runs: Sequence[tuple[str, Run]]) -> None:
    rows = [run_row(run, design) for design, run in runs]
    match playing.output.format:
        case OutputFormat.JSON:
            _emit_object(playing, {"runs": rows, **_counts(playing, 1, [run for _, run in runs])})
        case OutputFormat.JSONL:
            counts = _counts(playing, 1, [run for _, run in runs])
            emit([*rows, counts], RUN_COLUMNS, playing.output)
        case _:
            emit(rows, RUN_COLUMNS, playing.output)


# ---- many seeds -----------------------------------------------------------------------------------


def play_seeds(playing: Playing, seeds: int, jobs: int | None, scenario_of: ScenarioOf) -> None:
    """Play many seeds for the checkers alone, by `jobs` processes; None: by as many as pay.

    Raises FindingsError if one found something.
    """
    processes = min(jobs or _processes_that_pay(seeds), seeds)
    told: list[Run] = []

    def played() -> Iterator[Row]:
        progress = TerminalProgress(quiet=playing.quiet)
        with progress.counted(f"playing {playing.name}", seeds) as advance:
            chosen = range(playing.seed, playing.seed + seeds)
            for design, run in simulate_seeds(scenario_of, chosen, processes):
                if run.violations or run.known:
                    told.append(run)
                yield run_row(run, design)
                advance(1)

    rows = played()
    match playing.output.format:
        case OutputFormat.TABLE:
            for _ in rows:
                pass
            with printing_to(playing.output.path):
                print_seeds(_counts(playing, seeds, told), headers=playing.output.headers)
        case OutputFormat.JSON:
            failures = [row for row in rows if row["violations"]]
            _emit_object(playing, {"runs": failures, **_counts(playing, seeds, told)})
        case OutputFormat.JSONL:
            emit(_with_counts(rows, lambda: _counts(playing, seeds, told)), RUN_COLUMNS, playing.output)
        case _:
            emit(rows, RUN_COLUMNS, playing.output)
    _judge(playing, told)


def _processes_that_pay(seeds: int) -> int:
    """One for each core that is ours; none more where a process takes longer to begin than to play."""
    if seeds < _WORTH_PROCESSES:
        return 1
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def _with_counts(rows: Iterator[Row], counts: Callable[[], Row]) -> Iterator[Row]:
    yield from rows
    yield counts()


def _counts(playing: Playing, seeds: int, runs: Sequence[Run]) -> Row:
    """The number of seeds that passed, and those that did not. `runs`: at least those that failed."""
    failing = sorted({run.seed for run in runs if run.violations})
    return {
        "scenario": playing.name,
        "seeds": seeds,
        "passed": seeds - len(failing),
        "failed": len(failing),
        "failing_seeds": failing,
    }


def _emit_object(playing: Playing, value: Row) -> None:
    """A JSON object, not a list of rows: what counts stands at its end."""
    output = replace(playing.output, format=OutputFormat.JSONL)
    emit_json([to_json(value)], output)


def _judge(playing: Playing, runs: Sequence[Run]) -> None:
    """Say what the checkers found. Raises FindingsError if a promise was broken."""
    for line in [each for run in runs for each in known_lines(run)][:_SHOWN_MAX]:
        say(line)
    failed = [run for run in runs if run.violations]
    if not failed:
        return
    violations = [each for run in failed for each in violation_lines(run)]
    for line in violations[:_SHOWN_MAX]:
        say(line)
    if len(violations) > _SHOWN_MAX:
        say(f"and {len(violations) - _SHOWN_MAX} more")
    seeds = sorted({run.seed for run in failed})
    which = ", ".join(map(str, seeds[:_SHOWN_MAX]))
    raise FindingsError(
        f"{playing.name}: promises broken under seed {which}; --seed {seeds[0]} --explain tells the story"
    )
