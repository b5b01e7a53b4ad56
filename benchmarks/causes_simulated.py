"""The rate at which replay names the causes of simulated rebalances, which the simulation itself knows.

    python -m benchmarks.causes_simulated [--seeds N] [--first SEED] [--wrong]

Each seed is a small world full of trouble (`kgroup simulate --seeds N`): members and brokers are killed,
paused and cut off, clocks jump. Its offsets log is replayed as the log of any broker is, and each cause
judged by the trace of the same run. `precision`: of the causes that replay calls recorded or inferred, those
that are true. `recall`: of the members that a round takes out, those where replay names the reason;
`left open` are the causes that it calls unknown. `--wrong` prints each cause that is not true.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from tabulate import tabulate

from benchmarks.simulated_truth import Truth, Window
from kgroup.api.opened import open_logs
from kgroup.api.replay import replay
from kgroup.broker.storage import MemoryStorage, TopicSpec
from kgroup.history.timeline.model import Cause, CauseKind, Grade, Timeline
from kgroup.log.store.record_log import MemoryLog, RecordLog
from kgroup.protocol.group_hash import OFFSETS_TOPIC
from kgroup.sim.scenario.scenario import FaultKind, Scenario
from kgroup.sim.swarm import draw_scenario
from kgroup.sim.world.world import FAULTS_OF_MEMORY, run

_LEFT_OUT: Final = FAULTS_OF_MEMORY | {FaultKind.NARROW}


@dataclass(frozen=True, slots=True, kw_only=True)
class Judged:
    """A cause that replay gives for a seed; `happened` are the true ones of the members that it is about."""

    seed: int
    generation: int | None
    cause: Cause
    is_true: bool
    happened: tuple[CauseKind, ...]

    @property
    def is_graded(self) -> bool:
        """Whether replay calls it more than a possibility."""
        return self.cause.grade is not Grade.UNKNOWN


class _KeptLogs(MemoryStorage):
    """Logs in memory, of which those of the offsets topic can be read when the world has ended."""

    def __init__(self) -> None:
        self.offsets_logs: dict[int, MemoryLog] = {}

    def open_log(self, topic: TopicSpec, partition: int, segment_bytes: int) -> RecordLog:
        """An empty log."""
        log = MemoryLog()
        if topic.name == OFFSETS_TOPIC:
            self.offsets_logs[partition] = log
        return log


def judge_seed(seed: int) -> Iterator[Judged]:
    """Play a seed's world, replay its log, and judge what replay says of each group."""
    storage = _KeptLogs()
    scenario = members_alone(seed)
    truth = Truth()
    run(scenario, seed, storage=storage, on_event=truth.tell, codec=False, until_settled=True)
    for timeline in _replayed(storage):
        for generation, window, cause in _causes(timeline, truth):
            yield Judged(
                seed=seed,
                generation=generation,
                cause=cause,
                is_true=cause.grade is not Grade.UNKNOWN and truth.is_true(cause, window),
                happened=tuple(truth.departures(cause, window)),
            )


def members_alone(seed: int) -> Scenario:
    """The seed's world without what its truth does not tell: strangers, producers, changed subscriptions.

    Nor do its disks fail: its logs are kept for a reader.
    """
    scenario = draw_scenario(seed, more=False)
    chaos = scenario.chaos
    if chaos is not None:
        chaos = replace(chaos, kinds=tuple(kind for kind in chaos.kinds if kind not in _LEFT_OUT))
    faults = tuple(fault for fault in scenario.faults if fault.kind not in _LEFT_OUT)
    return replace(scenario, faults=faults, chaos=chaos, strangers=0, producers=0)


def _replayed(storage: _KeptLogs) -> list[Timeline]:
    with TemporaryDirectory(prefix="kgroup-") as folder:
        for partition, log in storage.offsets_logs.items():
            log_dir = Path(folder) / f"{OFFSETS_TOPIC}-{partition}"
            log_dir.mkdir()
            (log_dir / f"{0:020}.log").write_bytes(b"".join(log.batches(0)))
        return list(replay(open_logs(folder), ["*"]).values())


def _causes(timeline: Timeline, truth: Truth) -> Iterator[tuple[int | None, Window, Cause]]:
    previous = 0
    for generation in timeline.generations:
        number = generation.roster.generation
        window = truth.window(timeline.group_id, previous, number)
        for cause in generation.causes:
            yield number, window, cause
        previous = number
    for occurrence in timeline.occurrences:
        yield (
            occurrence.generation,
            truth.since(timeline.group_id, occurrence.generation or 0),
            occurrence.cause,
        )


def table(judged: list[Judged]) -> str:
    """A line for each cause, and the precision of all."""
    graded = Counter(one.cause.kind for one in judged if one.is_graded)
    right = Counter(one.cause.kind for one in judged if one.is_true)
    left_open = Counter(one.cause.kind for one in judged if not one.is_graded)
    happened = Counter(kind for one in judged for kind in one.happened)
    named = Counter(kind for one in judged for kind in one.happened if one.is_true and kind is one.cause.kind)
    rows = [
        (
            kind,
            graded[kind],
            right[kind] / graded[kind] if graded[kind] else None,
            f"{named[kind]} of {happened[kind]}" if happened[kind] else None,
            named[kind] / happened[kind] if happened[kind] else None,
            left_open[kind] or None,
        )
        for kind in sorted(graded.keys() | left_open.keys() | happened.keys())
    ]
    lines = tabulate(
        rows,
        headers=("cause", "graded", "precision", "named", "recall", "left open"),
        floatfmt=("", "", ".3f", "", ".2f", ""),
        missingval="-",
    )
    return f"{lines}\n\n{graded.total()} graded causes, precision {precision(judged):.3f}"


def precision(judged: list[Judged]) -> float:
    """The share of true ones among the graded causes."""
    graded = [one.is_true for one in judged if one.is_graded]
    return sum(graded) / max(len(graded), 1)


def main() -> None:
    """Read the command line, play, and print the table."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--seeds", type=int, default=20, metavar="N")
    parser.add_argument("--first", type=int, default=0, metavar="SEED")
    parser.add_argument("--wrong", action="store_true")
    given = parser.parse_args()
    judged = [one for seed in range(given.first, given.first + given.seeds) for one in judge_seed(seed)]
    if given.wrong:
        for one in judged:
            if one.is_graded and not one.is_true:
                happened = ", ".join(one.happened) or "nothing of the kind"
                print(
                    f"seed {one.seed}, generation {one.generation}: {one.cause.kind} {one.cause.grade} of"
                    f" {', '.join(one.cause.member_ids)}: {one.cause.evidence}; it was {happened}"
                )
    print(table(judged))


if __name__ == "__main__":
    main()
