"""Brokers and members on a virtual clock: the scenario to play, and its result."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Final

from kgroup.api.tabular import Tabular
from kgroup.assignors.registry import CLIENT_ASSIGNORS
from kgroup.broker.storage import FolderStorage
from kgroup.errors import InputError, nearest_or_all
from kgroup.report.destination import require_empty
from kgroup.report.emit import Column, Kind, Row
from kgroup.report.html_table import html_table
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import printable
from kgroup.sim.chronicle import Chronicle
from kgroup.sim.designs import compared_designs, own_design, play, require_logs, with_assignors
from kgroup.sim.scenario.file import load_scenario, load_shipped, shipped_names
from kgroup.sim.scenario.scenario import Fault, FaultKind, Scenario, SimMember, SimTopic
from kgroup.sim.swarm import Swarm, draw_scenario
from kgroup.sim.watch.result import Run, Violation
from kgroup.sim.zookeeper.trace import ZookeeperEvent

SWARM: Final = "swarm"
SWARMS: Final[Mapping[str, tuple[Swarm, str]]] = {
    SWARM: (Swarm.CLASSIC, "A small world full of trouble, another one for each seed."),
    "swarm-consumer": (Swarm.CONSUMER, "The same trouble for members of the consumer protocol."),
    "swarm-migration": (Swarm.MIGRATION, "The same trouble while members change over to it, and back."),
}
"""By name: the members' protocol, and a sentence."""
QUICK_MEMBERS: Final = 3
QUICK_PARTITIONS: Final = 12
QUICK_RATE: Final = 10.0
QUICK_NODES: Final = 3
_QUICK_TOPIC: Final = "t"
_AFTER_LAST_FAULT_MS: Final = 60_000

MEASURES: Final[Mapping[str, str]] = {
    "notifications": "notifications sent",
    "rebalances": "rebalances",
    "generations": "generations",
    "moved_partitions": "partitions moved",
    "unavailable_partition_s": "partition-seconds without a reader",
    "two_owner_partition_s": "partition-seconds with two readers",
    "stopped_member_s": "member-seconds stopped by rebalances",
    "processed": "records processed",
    "duplicates": "records processed again",
    "passed_over": "records passed over by latest",
    "requests": "requests sent",
}
"""Field of Tally -> the words for it in tables."""
_ONLY_IF_ANY: Final = ("passed_over",)
"""Measures that tables leave out when they are 0."""
RUN_COLUMNS: Final = (
    Column(name="scenario"),
    Column(name="design"),
    Column(name="seed", kind=Kind.INTEGER),
    Column(name="end_ms", kind=Kind.INTEGER),
    Column(name="settled_ms", kind=Kind.INTEGER),
    *(Column(name=name, kind=Kind.FLOAT if name.endswith("_s") else Kind.INTEGER) for name in MEASURES),
    Column(name="violations", kind=Kind.NESTED),
    Column(name="known", kind=Kind.NESTED),
)
_MEASURE_TABLE: Final = (Column(name="measure"), Column(name="total", kind=Kind.INTEGER))

Hear = Callable[[ZookeeperEvent], None]


# ---- runs -----------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class SimulatedRun(Run, Tabular):
    """A Run that a notebook shows; as a table one row. `chronicle` has generations, shares and states."""

    design: str
    chronicle: Chronicle

    def __repr__(self) -> str:
        return f"<Run of {printable(self.scenario.name)}, {self.design}, seed {self.seed}: {self._outcome}>"

    def _repr_html_(self) -> str:
        rows = [*measure_rows([("total", self)]), *({"measure": each.what} for each in self.violations)]
        title = f"{self.scenario.name}, {self.design}, seed {self.seed}: {self._outcome}"
        return html_table(rows, _MEASURE_TABLE, title)

    @property
    def _outcome(self) -> str:
        return f"{len(self.violations)} promises broken" if self.violations else "every promise kept"

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup simulate -o parquet`."""
        return RUN_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """One row."""
        return iter([run_row(self, self.design)])


def simulate(
    scenario: Scenario | str,
    seed: int = 0,
    *,
    design: str | None = None,
    log_dir: str | Path | None = None,
    on_event: Hear | None = None,
    warn: Callable[[str], None] | None = None,
    progress: Progress = NO_PROGRESS,
) -> SimulatedRun:
    """Simulate brokers and members on a virtual clock: the same seed gives the same run.

    `scenario` is one that comes with kgroup, a file as described in kgroup-scenario(5), or a Scenario.
    `design` is eager, cooperative, consumer, migration, zookeeper or an assignor; the default is the
    members' own. The brokers' logs are kept as segment files in `log_dir`, a new or empty folder. Each
    event goes to `on_event` as it happens, problems with the folder to `warn`. Raises InputError or
    SourceError for invalid input; broken promises are in the run.
    """
    chosen = named_scenario(scenario, seed) if isinstance(scenario, str) else scenario
    own = own_design(chosen)
    played_as = own if design is None else design
    if played_as != own and len(compared_designs(played_as)) > 1:
        raise InputError(f"{played_as}: one design at a time")
    storage = None
    if log_dir is not None:
        require_logs(played_as)
        require_empty(Path(log_dir), "--log-dir")
        storage = FolderStorage(Path(log_dir), warn or _pass_over)
    chronicle = Chronicle(chosen)

    def hear(event: ZookeeperEvent) -> None:
        chronicle.hear(event)
        if on_event is not None:
            on_event(event)

    with progress.activity(f"playing {chosen.name}, {played_as}"):
        run = play(chosen, played_as, seed, storage=storage, on_event=hear)
    own_fields = {each.name: getattr(run, each.name) for each in fields(Run)}
    return SimulatedRun(**own_fields, design=played_as, chronicle=chronicle)


def run_row(run: Run, design: str) -> Row:
    """A run in the fields of RUN_COLUMNS; times are ms since the start of the scenario."""
    start_ms = run.scenario.epoch_ms
    return {
        "scenario": run.scenario.name,
        "design": design,
        "seed": run.seed,
        "end_ms": run.end_ms - start_ms,
        "settled_ms": run.settled_ms,
        **_measures(run),
        "violations": _told(run.violations, start_ms),
        "known": _told(run.known, start_ms),
    }


def _told(violations: Sequence[Violation], start_ms: int) -> list[Row]:
    return [
        {"checker": each.checker, "at_ms": each.at_ms - start_ms, "what": each.what} for each in violations
    ]


def measure_rows(runs: Sequence[tuple[str, Run]]) -> list[Row]:
    """A row for each measure, with the number of each run under the name next to it."""
    rows: list[Row] = [
        {"measure": text, **{design: _number(_measures(run)[name]) for design, run in runs}}
        for name, text in MEASURES.items()
        if name not in _ONLY_IF_ANY or any(_measures(run)[name] for _, run in runs)
    ]
    settled = {design: _settled(run) for design, run in runs}
    return [*rows, {"measure": "settled after the faults", **settled}]


def _measures(run: Run) -> dict[str, float | None]:
    """The tally; a run without any generation has none to count, as the old design."""
    measures = asdict(run.tally)
    return {**measures, "generations": measures["generations"] or None}


def _number(value: float | None) -> str | None:
    return f"{value:.1f}" if isinstance(value, float) else None if value is None else str(value)


def _settled(run: Run) -> str:
    return "never" if run.settled_ms is None else f"{run.settled_ms / 1000:.1f}s"


def _pass_over(line: str) -> None:
    """Ignore progress: there is no listener."""


# ---- scenarios ------------------------------------------------------------------------------------


def scenario_abouts() -> dict[str, str]:
    """The scenarios that come with kgroup, by name: a sentence about each."""
    abouts = {name: load_shipped(name).about for name in shipped_names()}
    swarms = {name: about for name, (_, about) in SWARMS.items()}
    return dict(sorted({**swarms, **abouts}.items()))


def named_scenario(name: str, seed: int) -> Scenario:
    """A scenario by name or file; only SWARMS have another one for each seed."""
    return draw_scenario(seed, SWARMS[name][0]) if name in SWARMS else load_scenario(name)


def quick_scenario(
    members: Sequence[str],
    faults: Sequence[Fault] = (),
    *,
    partitions: int = QUICK_PARTITIONS,
    records_per_s: float = QUICK_RATE,
    nodes: int = QUICK_NODES,
) -> Scenario:
    """A group on one topic, until a minute after the last fault. Whom a fault starts comes only then."""
    started = [fault.target for fault in faults if fault.kind is FaultKind.START]
    late = [name for name in dict.fromkeys(started) if name not in members and not name.startswith("node-")]
    topics = (_QUICK_TOPIC,)
    simulated = [SimMember(name=name, topics=topics) for name in members]
    simulated += [SimMember(name=name, topics=topics, start_ms=None) for name in late]
    last_ms = max((fault.at_ms + (fault.duration_ms or 0) for fault in faults), default=0)
    return Scenario(
        name="quick",
        duration_ms=last_ms + _AFTER_LAST_FAULT_MS,
        settle_ms=_AFTER_LAST_FAULT_MS,
        nodes=nodes,
        topics=(SimTopic(name=_QUICK_TOPIC, partitions=partitions, records_per_s=records_per_s),),
        members=tuple(simulated),
        faults=tuple(faults),
    )


def with_known_assignors(scenario: Scenario, assignors: Sequence[str]) -> Scenario:
    """The same with these assignors at every member. Raises InputError for an unknown one."""
    for name in assignors:
        if name not in CLIENT_ASSIGNORS:
            raise InputError(f"unknown assignor '{name}': {nearest_or_all(name, CLIENT_ASSIGNORS)}")
    return with_assignors(scenario, tuple(assignors))
