"""Every benchmark at one size, and their figures as the table of docs/figures.md.

    python -m benchmarks.all [--size 1GB] [--beside HOST:PORT] [--print]

`--size` is that of the log; how many commits are judged, hours simulated and so on goes with it. By default
it is so small that all is done in a few minutes; figures to be quoted are those of 1GB on a quiet machine.
Figures are ratios within one run wherever there is something to compare with; `--beside` names a Kafka broker
that takes the load of `serve` in turn.
"""

import argparse
import os
import platform
import re
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Final

from benchmarks import (
    assignors,
    causes,
    causes_simulated,
    decode,
    decode_command,
    growth,
    lag_report,
    replay,
    serve,
    serve_records,
    simulate,
    spark,
    spark_start,
    start,
    status,
)
from benchmarks.log_argument import made_log
from benchmarks.make_log import parse_size
from benchmarks.measure import Measured, Speed
from benchmarks.process import Cost

_ROOT: Final = Path(__file__).parents[1]
PAGE: Final = _ROOT / "docs" / "figures.md"
BEGIN: Final = "<!-- written by python -m benchmarks.all -->"
END: Final = "<!-- end of what python -m benchmarks.all has written -->"
HEADERS: Final = ("What", "Figure", "Compared with", "Alone")

_FULL: Final = 10**9
_TINY: Final = 5 * 10**6
_DAY_HOURS: Final = 24
_MEMBERS: Final = 100
_FIRST_SEED: Final = 3000
_RECORD_BYTES: Final = 1000
_DECODED: Final = (
    decode_command.Call.JSONL,
    decode_command.Call.CSV,
    decode_command.Call.TABLE,
    decode_command.Call.PARQUET,
    decode_command.Call.OF_NO_COMMIT,
)
_REPORTS: Final = (
    lag_report.Call.NOW,
    lag_report.Call.JSONL,
    lag_report.Call.PARQUET,
    lag_report.Call.STATUS,
    lag_report.Call.STUCK,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Figures:
    """The figures of the benchmarks, each as its module gives it."""

    log_bytes: int
    start: start.Starts
    decode: dict[decode.Way, Speed]
    decode_command: dict[decode_command.Call, Speed]
    lag_report: dict[lag_report.Call, Cost]
    spark_start: spark_start.Costs
    one_core: spark.Figures
    two_cores: spark.Figures
    replay: dict[replay.Way, Speed]
    growth: list[growth.Growth]
    status: dict[str, Measured]
    answered: list[assignors.Answered]
    beside_kafka_python: assignors.BesideKafkaPython
    loads: dict[str, serve.Load]
    records: list[serve_records.Throughput]
    is_beside: bool
    day: simulate.Day
    swarm: simulate.Swarm
    causes: causes.Score
    judged: list[causes_simulated.Judged]


@dataclass(frozen=True, slots=True)
class Row:
    """A row of the table: `benchmark` measures it alone, `figure` finds it among all."""

    measured: str
    compared_with: str
    benchmark: str
    figure: Callable[[Figures], str]

    @property
    def command(self) -> str:
        """The command to type."""
        return f"python -m benchmarks.{self.benchmark}"


def measure(size: int, broker: str | None, tell: Callable[[str], None]) -> Figures:
    """Run every benchmark; `tell` hears of each before it begins. `broker` is a Kafka's address."""
    scale = size / _FULL
    # Of a tiny log nobody wants the figures, only that there are some.
    rounds = partial(min, 9 if size > _TINY else 1)
    tell("start")
    starts = start.measure(rounds(5))
    tell("a log to read")
    with made_log(size) as log:
        tell("decode")
        decoded = decode.measure([log], min(size, 20_000_000), rounds(3))
        tell("decode, the command")
        with made_log(min(size, 100_000_000)) as smaller:
            commands = decode_command.measure(
                [smaller],
                rounds(2),
                (*_DECODED, decode_command.Call.DUMP_LOG),
            )
        tell("lag-report")
        calls = (lag_report.Call.SCAN, *_REPORTS, lag_report.Call.HISTORY)
        reported = lag_report.measure([log], rounds(3), calls)
        tell("replay")
        replayed = replay.measure([log], rounds(2))
        tell("Spark")
        one_core, two_cores = (spark.measure(log, cores, rounds(5)) for cores in (1, 2))
        spark_started = spark_start.measure(rounds(3))
    tell("growth")
    grown = list(growth.measure(full=size >= _FULL, rounds=1))
    tell("statuses")
    judged_status = status.measure(int(10_000_000 * scale), rounds(2))
    tell("assignors")
    answered = list(assignors.measure(assignors.QUESTIONS, rounds(9)))
    beside = assignors.beside_kafka_python(assignors.QUESTIONS, assignors.BESIDE_KAFKA_PYTHON[0])
    tell("serve")
    loads = serve.measure([_MEMBERS], rounds(3), max(3 * scale, 0.5), beside=broker)
    with serve.serving() as bootstrap:
        addresses = [bootstrap] if broker is None else [bootstrap, broker]
        records = serve_records.rounds(addresses, rounds(3), max(int(100 * scale), 5), _RECORD_BYTES)
    tell("simulate")
    day = simulate.play_day(max(_DAY_HOURS * scale, 0.25), _MEMBERS, seed=1)
    swarm = simulate.play_seeds(max(int(100 * scale), 10))
    tell("causes")
    scored = causes.score(_ROOT / "fixtures")
    seeds = range(_FIRST_SEED, _FIRST_SEED + max(int(200 * scale), 10))
    return Figures(
        log_bytes=decoded[decode.Way.SCAN].size,
        start=starts,
        decode=decoded,
        decode_command=commands,
        lag_report=reported,
        spark_start=spark_started,
        one_core=one_core,
        two_cores=two_cores,
        replay=replayed,
        growth=grown,
        status=judged_status,
        answered=answered,
        beside_kafka_python=beside,
        loads=loads,
        records=records,
        is_beside=broker is not None,
        day=day,
        swarm=swarm,
        causes=scored,
        judged=[one for seed in seeds for one in causes_simulated.judge_seed(seed)],
    )


def _start(what: start.Start, figures: Figures) -> str:
    return f"{start.times(figures.start, what):.1f} times ({figures.start[what]:.0f} ms)"


def _speed(speed: Speed, times: float) -> str:
    return f"{times:.2f} times ({speed.megabytes_per_second:,.0f} MB/s)"


def _scan(figures: Figures) -> str:
    speed = figures.decode[decode.Way.SCAN]
    return _speed(speed, speed.times(figures.decode[decode.Way.READ]))


def _arrow(figures: Figures) -> str:
    speed = figures.decode[decode.Way.ARROW]
    return _speed(speed, speed.times(figures.decode[decode.Way.SCAN]))


def _beside_plain(figures: Figures) -> str:
    speed = figures.decode[decode.Way.ARROW]
    plain = figures.decode[decode.Way.PLAIN]
    times = speed.records_per_second / plain.records_per_second
    return f"{times:.0f} times ({speed.records_per_second / 1e6:.1f} M records/s)"


def _decode_command(call: decode_command.Call) -> Callable[[Figures], str]:
    def figure(figures: Figures) -> str:
        speed = figures.decode_command[call]
        beside = figures.decode_command.get(decode_command.Call.DUMP_LOG, figures.decode[decode.Way.SCAN])
        return f"{speed.times(beside):.2f} times ({speed.records_per_second / 1e3:.0f} k records/s)"

    return figure


def _lag_report(call: lag_report.Call, than: lag_report.Call) -> Callable[[Figures], str]:
    def figure(figures: Figures) -> str:
        cost, base = figures.lag_report[call], figures.lag_report[than]
        times = cost.cpu_seconds / base.cpu_seconds
        return f"{times:.1f} times ({cost.cpu_seconds:.1f} s CPU, {cost.peak_mb} MB)"

    return figure


def _spark_start(call: spark_start.Call) -> Callable[[Figures], str]:
    def figure(figures: Figures) -> str:
        seconds, bare = (figures.spark_start[one] for one in (call, spark_start.Call.BARE))
        return f"{seconds / bare:.2f} times ({seconds:.1f} s CPU)"

    return figure


def _spark_cpu(figures: Figures) -> str:
    return f"{figures.one_core.cpu_ratio:.2f} times ({figures.one_core.spark_cpu:.1f} s)"


def _spark_cores(figures: Figures) -> str:
    one, two = figures.one_core.spark_elapsed, figures.two_cores.spark_elapsed
    return f"{one / two:.2f} times as fast ({two:.1f} s)"


def _spark_memory(figures: Figures) -> str:
    memory = figures.two_cores
    return f"driver {memory.driver_mb} MB, worker {memory.worker_mb} MB, JVM {memory.jvm_mb} MB"


def _replay(figures: Figures) -> str:
    speed = figures.replay[replay.Way.REPLAY]
    return _speed(speed, speed.times(figures.replay[replay.Way.SCAN]))


def _growth(axis: str) -> Callable[[Figures], str]:
    def figure(figures: Figures) -> str:
        worst = max(
            (one for one in figures.growth if one.axis == axis), key=lambda growth: growth.times_linear
        )
        sizes, seconds = (
            " / ".join(map(form, of))
            for form, of in (("{:,}".format, worst.sizes), ("{:.2f}".format, worst.seconds))
        )
        return f"{worst.times_linear:.2f} times linear (`{worst.command}`: {sizes} in {seconds} s CPU)"

    return figure


def _status(figures: Figures) -> str:
    columns, alone = figures.status[status.KNOWN], figures.status[status.ONE_BY_ONE]
    times = (alone.seconds / alone.result) / (columns.seconds / columns.result)
    return f"{times:.0f} times ({columns.result / 1e6:.1f} M in {columns.seconds:.1f} s CPU)"


def _sticky(figures: Figures) -> str:
    compared = figures.beside_kafka_python
    return f"{compared.times:.0f} times ({compared.ours_ms:.1f} ms)"


def _java(figures: Figures) -> str:
    times = sorted(one.times_java for one in figures.answered)
    over = sum(one.is_over for one in figures.answered)
    return f"{times[len(times) // 2]:.1f} times in the middle; {over} of {len(times)} over 10 times and 10 ms"


def _load(name: str) -> Callable[[Figures], str]:
    def figure(figures: Figures) -> str:
        load = figures.loads[name]
        ours = _load_text(load.value, load.unit)
        return ours if load.kafka is None else f"{ours}; Kafka {_load_text(load.kafka, load.unit)}"

    return figure


def _load_text(value: float, unit: str) -> str:
    return f"{value * 1000:.0f} ms" if unit == "s" else f"{value / 1000:.1f} k/s"


def _records(figures: Figures) -> str:
    ours, *theirs = (f"{each.produced:.0f} and {each.consumed:.0f} MB/s" for each in figures.records)
    return f"{ours}; Kafka {theirs[0]}" if theirs else ours


def _day(figures: Figures) -> str:
    day = figures.day
    times = day.hours * 3600 / day.seconds
    return f"{times:,.0f} times as fast ({day.hours:.1f} h in {day.seconds:.0f} s CPU)"


def _swarm(figures: Figures) -> str:
    return f"{figures.swarm.seeds_per_second:.0f} seeds/s, {len(figures.swarm.broken)} broken"


def _causes(figures: Figures) -> str:
    causes = figures.causes
    return f"{causes.precision:.3f} of {causes.right.total() + causes.wrong.total():,} are true"


def _causes_simulated(figures: Figures) -> str:
    graded = sum(one.is_graded for one in figures.judged)
    return f"{causes_simulated.precision(figures.judged):.3f} of {graded:,} are true"


_NEWEST: Final = "`newest()` of the same files, a whole process"
_KAFKA: Final = "Kafka, as said above the table"
ROWS: Final = (
    Row("`kgroup --help`", "`python -c pass`", "start", partial(_start, start.Start.HELP)),
    *(
        Row(f"`kgroup {what}`{of}", "`python -c pass`", "start", partial(_start, what))
        for what, of in (
            (start.Start.FIND_COORDINATOR, ""),
            (start.Start.LAG_REPORT, " of a small capture"),
            (start.Start.REPLAY, " of one of its groups"),
            (start.Start.DECODE, " of it"),
        )
    ),
    Row("scan of the offsets topic, CRC checked, one core", "`read()` of the same files", "decode", _scan),
    Row("the same into Arrow columns", "the scan", "decode", _arrow),
    Row("the same, records per second", "decoding them one by one in Python", "decode", _beside_plain),
    *(
        Row(
            f"`kgroup decode {call}`, whole process, one core",
            "kafka-dump-log of the same files, if it is there; else the scan",
            "decode_command",
            _decode_command(call),
        )
        for call in _DECODED
    ),
    *(
        Row(
            f"`kgroup lag-report {call.removesuffix(f' --output {os.devnull}')}`",
            _NEWEST,
            "lag_report",
            _lag_report(call, lag_report.Call.SCAN),
        )
        for call in _REPORTS
    ),
    Row(
        "with `--windows 1h -o parquet`, all of a day",
        "`-o csv`: of now",
        "lag_report",
        _lag_report(lag_report.Call.HISTORY, lag_report.Call.NOW),
    ),
    *(
        Row(
            f"`kgroup {call}` of a small capture, all processes",
            "a session with the same Java options that runs one task in Python",
            "spark_start",
            _spark_start(call),
        )
        for call in (spark_start.Call.NOW, spark_start.Call.STATUS)
    ),
    Row("Spark's CPU, all processes, session up", "the local scan", "spark", _spark_cpu),
    Row("Spark on two cores", "Spark on one", "spark", _spark_cores),
    Row("Spark's peak memory", "-", "spark", _spark_memory),
    Row("`replay` of one group, all partitions read", "the scan", "replay", _replay),
    *(
        Row(
            f"growth with {axis.name}, the steepest command",
            "as many times the work",
            "growth",
            _growth(axis.name),
        )
        for axis in growth.AXES
    ),
    Row("status at every commit, in columns", "the same rules, window by window", "status", _status),
    Row("sticky, 500 members, 5,000 partitions", "kafka-python's", "assignors", _sticky),
    Row("all assignors, time for large groups", "Java's, warm, another day", "assignors", _java),
    *(
        Row(f"`serve`: {measured}", _KAFKA, "serve", _load(name))
        for measured, name in (
            ("a new group of 100 members is stable after", "rebalance new, 100 members"),
            ("heartbeats of 100 members", "heartbeats, 100 members"),
            (
                "a new group of 100 members of the consumer protocol has its partitions after",
                "consumer protocol: rebalance new, 100 members",
            ),
            ("heartbeats of these", "consumer protocol: heartbeats, 100 members"),
            ("commits of one partition, 16 connections", "OffsetCommit of 1 partition, 16 connections"),
            ("commits of 100 partitions, 1 connection", "OffsetCommit of 100 partitions, 1 connection"),
            ("commits of 100 partitions, 16 connections", "OffsetCommit of 100 partitions, 16 connections"),
            (
                "fetches of 100 partitions' offsets, 1 connection",
                "OffsetFetch of 100 partitions, 1 connection",
            ),
            (
                "fetches of 100 partitions' offsets, 16 connections",
                "OffsetFetch of 100 partitions, 16 connections",
            ),
        )
    ),
    Row("`serve`: one producer, then one consumer, records of 1 kB", _KAFKA, "serve_records", _records),
    Row("`simulate`: 100 members, a fault a minute", "the time that it simulates", "simulate", _day),
    Row("`simulate --seeds`, one core", "-", "simulate", _swarm),
    Row("`replay`: causes called recorded or inferred", "the diaries of the captures", "causes", _causes),
    Row("the same, of simulated groups in trouble", "the simulation", "causes_simulated", _causes_simulated),
)


def table(figures: Figures) -> str:
    """The table in Markdown, and on what it was measured."""
    lines = [
        f"A log of {figures.log_bytes / 1e6:,.0f} MB with {figures.one_core.records / 1e6:.1f} M records;"
        f" {os.cpu_count()} cores ({platform.machine()}), Python {platform.python_version()}."
        f" Kafka is {'a broker beside' if figures.is_beside else '4.3.1 alone on two cores, another day'}.",
        "",
        _line(HEADERS),
        _line("---" for _ in HEADERS),
    ]
    lines += [
        _line((row.measured, row.figure(figures), row.compared_with, f"`{row.command}`")) for row in ROWS
    ]
    return "\n".join(lines)


def _line(cells: "Iterator[str] | tuple[str, ...]") -> str:
    return f"| {' | '.join(cells)} |"


def put_into(text: str, written: str) -> str:
    """The text with `written` between the two marks, in place of what was there."""
    pattern = re.compile(f"({re.escape(BEGIN)}\n).*(^{re.escape(END)})", re.DOTALL | re.MULTILINE)
    if len(pattern.findall(text)) != 1:
        sys.exit(f"{PAGE}: the two marks are not there: {BEGIN} and {END}")
    return pattern.sub(lambda marks: f"{marks[1]}\n{written}\n\n{marks[2]}", text)


def main() -> None:
    """Measure, and write the table into docs/figures.md."""
    parser = argparse.ArgumentParser(
        prog="python -m benchmarks.all",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("--size", type=parse_size, default=parse_size("50MB"), help="of the log")
    parser.add_argument("--beside", metavar="HOST:PORT", help="a broker that takes the load of serve in turn")
    parser.add_argument(
        "--print", action="store_true", help="print the table, and leave docs/figures.md alone"
    )
    given = parser.parse_args()
    put_into(PAGE.read_text(encoding="utf-8"), "")  # the marks are there: better known before than after
    measured = measure(given.size, given.beside, lambda row: print(f"{row} ...", file=sys.stderr, flush=True))
    written = table(measured)
    if given.print:
        print(written)
    else:
        PAGE.write_text(put_into(PAGE.read_text(encoding="utf-8"), written), encoding="utf-8")


if __name__ == "__main__":
    main()
