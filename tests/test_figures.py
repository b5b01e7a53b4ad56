"""The table of docs/figures.md is what `python -m benchmarks.all` writes, whatever the figures are."""

import re
import sys
from collections import Counter
from dataclasses import replace
from importlib.util import find_spec
from pathlib import Path

import pytest

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
    smallest,
    spark,
    spark_start,
    start,
    status,
)
from benchmarks.all import BEGIN, END, HEADERS, PAGE, ROWS, Figures, put_into
from benchmarks.all import table as figures_table
from benchmarks.measure import Measured, Speed
from benchmarks.process import Cost
from kgroup.history.timeline.model import Cause, CauseKind, Grade

MAIN = '\nif __name__ == "__main__":\n    main()\n'


def table() -> list[list[str]]:
    """The cells of what stands between the marks."""
    begin, end = (PAGE.read_text(encoding="utf-8").index(mark) for mark in (BEGIN, END))
    lines = PAGE.read_text(encoding="utf-8")[begin:end].splitlines()
    return [line.removeprefix("| ").removesuffix(" |").split(" | ") for line in lines if line.startswith("|")]


def test_it_has_the_columns_and_rows_that_are_measured():
    head, rule, *rows = table()
    assert head == list(HEADERS)
    assert rule == ["---"] * len(HEADERS)
    assert [(measured, compared, command) for measured, _, compared, command in rows] == [
        (row.measured, row.compared_with, f"`{row.command}`") for row in ROWS
    ]


def test_every_row_has_a_figure():
    for _, figure, *_ in table()[2:]:
        assert re.search(r"\d", figure), figure


def test_it_says_what_log_and_machine_it_was_measured_with():
    text = PAGE.read_text(encoding="utf-8")
    between = text[text.index(BEGIN) : text.index(END)]
    assert re.search(r"^A log of [\d,]+ MB with [\d.]+ M records; \d+ cores .*, Python 3\.", between, re.M)


@pytest.mark.parametrize("benchmark", sorted({row.benchmark for row in ROWS}))
def test_a_benchmark_that_is_named_can_be_run(benchmark):
    spec = find_spec(f"benchmarks.{benchmark}")
    assert spec is not None
    assert spec.origin is not None
    assert Path(spec.origin).read_text().endswith(MAIN)


def test_every_benchmark_is_run_at_its_smallest_or_by_all():
    """So that one that does not run any more is noticed before somebody wants its figures."""
    modules = {path.stem for path in Path(smallest.__file__).parent.glob("*.py") if MAIN in path.read_text()}
    assert modules - {"smallest"} == smallest.CALLS.keys() | {row.benchmark for row in ROWS}


def test_a_benchmark_that_fails_is_named_with_what_it_said(monkeypatch):
    monkeypatch.setitem(smallest.CALLS, "process", (sys.executable, "-c", "exit('no figures today')"))
    monkeypatch.setattr(sys, "argv", ["smallest", "--only", "process"])
    with pytest.raises(SystemExit, match=r"no figures today\n(.*\n)*benchmarks\.process .*: exit status 1"):
        smallest.main()


def figures():
    """What a run might find, in round numbers."""

    def speed(megabytes_per_second):
        return Speed(seconds=1.0, size=megabytes_per_second * 10**6, records=megabytes_per_second * 10**4)

    on_spark = {"megabytes": 100, "records": 1_000_000, "local_cpu": 0.5, "spark_cpu": 1.0, "cpu_ratio": 2.0}
    memory = {"driver_mb": 200, "jvm_mb": 400, "worker_mb": 250}
    loads = [
        serve.Load(name="rebalance new, 100 members", unit="s", value=0.02, kafka=0.01),
        serve.Load(name="heartbeats, 100 members", unit="/s", value=20_000, kafka=40_000),
        serve.Load(name="consumer protocol: rebalance new, 100 members", unit="s", value=0.05, kafka=None),
        serve.Load(name="consumer protocol: heartbeats, 100 members", unit="/s", value=15_000, kafka=None),
        serve.Load(name="OffsetCommit of 1 partition, 16 connections", unit="/s", value=10_000, kafka=30_000),
        serve.Load(name="OffsetCommit of 100 partitions, 1 connection", unit="/s", value=1000, kafka=2000),
        serve.Load(name="OffsetCommit of 100 partitions, 16 connections", unit="/s", value=2000, kafka=3000),
        serve.Load(name="OffsetFetch of 100 partitions, 1 connection", unit="/s", value=3000, kafka=4000),
        serve.Load(name="OffsetFetch of 100 partitions, 16 connections", unit="/s", value=4000, kafka=5000),
    ]
    cause = Cause(kind=CauseKind.JOIN, grade=Grade.RECORDED, evidence="")
    judged = {"seed": 1, "generation": 1, "cause": cause, "happened": ()}
    return Figures(
        log_bytes=100 * 10**6,
        start=dict(zip(start.Start, (30, 60, 90, 210, 240, 180), strict=True)),
        decode={
            decode.Way.READ: speed(6000),
            decode.Way.SCAN: speed(1500),
            decode.Way.ARROW: speed(600),
            decode.Way.PLAIN: speed(10),
        },
        decode_command={
            decode_command.Call.JSONL: speed(7),
            decode_command.Call.CSV: speed(6),
            decode_command.Call.TABLE: speed(6),
            decode_command.Call.PARQUET: speed(5),
            decode_command.Call.OF_NO_COMMIT: speed(9),
            decode_command.Call.DUMP_LOG: speed(2),
        },
        lag_report={
            lag_report.Call.SCAN: Cost(cpu_seconds=2.0, elapsed_seconds=2.5, peak_mb=170),
            lag_report.Call.NOW: Cost(cpu_seconds=3.0, elapsed_seconds=3.5, peak_mb=240),
            lag_report.Call.JSONL: Cost(cpu_seconds=3.2, elapsed_seconds=3.5, peak_mb=241),
            lag_report.Call.PARQUET: Cost(cpu_seconds=3.4, elapsed_seconds=3.5, peak_mb=242),
            lag_report.Call.STATUS: Cost(cpu_seconds=4.5, elapsed_seconds=5.0, peak_mb=350),
            lag_report.Call.STUCK: Cost(cpu_seconds=5.0, elapsed_seconds=5.0, peak_mb=360),
            lag_report.Call.HISTORY: Cost(cpu_seconds=6.0, elapsed_seconds=7.0, peak_mb=360),
        },
        spark_start={
            spark_start.Call.BARE: 5.0,
            spark_start.Call.NOW: 5.5,
            spark_start.Call.STATUS: 6.0,
        },
        one_core=spark.Figures(spark_elapsed=2.0, **on_spark, **memory),
        two_cores=spark.Figures(spark_elapsed=1.25, **on_spark, **memory),
        replay={replay.Way.SCAN: speed(1500), replay.Way.REPLAY: speed(750)},
        growth=[
            growth.Growth(
                axis=axis.name,
                command=command,
                sizes=(100, 1_000, 10_000),
                costs=tuple(
                    Cost(cpu_seconds=0.5 + cpu_seconds, elapsed_seconds=9, peak_mb=90)
                    for cpu_seconds in (0.1, 1.0, times * 10.0)
                ),
                start_seconds=0.5,
            )
            for axis in growth.AXES
            for command, times in (("groups", 0.9), ("replay", 1.2))
        ],
        status={status.KNOWN: Measured(1.0, 10_000_000), status.ONE_BY_ONE: Measured(0.1, 20_000)},
        answered=[
            assignors.Answered(name=str(times), least_ms=20.0 * times, median_ms=0, java_ms=20)
            for times in (1, 2, 11)
        ],
        beside_kafka_python=assignors.BesideKafkaPython(name="q", ours_ms=4, theirs_ms=4000),
        loads={load.name: load for load in loads},
        records=[serve_records.Throughput(produced=99.6, consumed=200.4)],
        is_beside=False,
        day=simulate.Day(hours=24, members=100, seconds=60, requests=1, rebalances=1, violations=0),
        swarm=simulate.Swarm(seeds=100, seconds=10, broken=(7,)),
        causes=causes.Score(right=Counter({CauseKind.JOIN: 3}), wrong=Counter({CauseKind.LEAVE: 1})),
        judged=[causes_simulated.Judged(is_true=is_true, **judged) for is_true in (True, True, True, False)],
    )


def test_figures_are_ratios_with_what_they_are_made_of():
    head, _, *lines = figures_table(figures()).splitlines()
    assert head.startswith("A log of 100 MB with 1.0 M records; ")
    assert head.endswith(". Kafka is 4.3.1 alone on two cores, another day.")
    assert [line.removeprefix("| ").split(" | ")[1] for line in lines[2:]] == [
        "2.0 times (60 ms)",
        "3.0 times (90 ms)",
        "7.0 times (210 ms)",
        "8.0 times (240 ms)",
        "6.0 times (180 ms)",
        "0.25 times (1,500 MB/s)",
        "0.40 times (600 MB/s)",
        "60 times (6.0 M records/s)",
        "3.50 times (70 k records/s)",
        "3.00 times (60 k records/s)",
        "3.00 times (60 k records/s)",
        "2.50 times (50 k records/s)",
        "4.50 times (90 k records/s)",
        "1.5 times (3.0 s CPU, 240 MB)",
        "1.6 times (3.2 s CPU, 241 MB)",
        "1.7 times (3.4 s CPU, 242 MB)",
        "2.2 times (4.5 s CPU, 350 MB)",
        "2.5 times (5.0 s CPU, 360 MB)",
        "2.0 times (6.0 s CPU, 360 MB)",
        "1.10 times (5.5 s CPU)",
        "1.20 times (6.0 s CPU)",
        "2.00 times (1.0 s)",
        "1.60 times as fast (1.2 s)",
        "driver 200 MB, worker 250 MB, JVM 400 MB",
        "0.50 times (750 MB/s)",
        *["1.20 times linear (`replay`: 100 / 1,000 / 10,000 in 0.10 / 1.00 / 12.00 s CPU)"] * 5,
        "50 times (10.0 M in 1.0 s CPU)",
        "1000 times (4.0 ms)",
        "2.0 times in the middle; 1 of 3 over 10 times and 10 ms",
        "20 ms; Kafka 10 ms",
        "20.0 k/s; Kafka 40.0 k/s",
        "50 ms",
        "15.0 k/s",
        "10.0 k/s; Kafka 30.0 k/s",
        "1.0 k/s; Kafka 2.0 k/s",
        "2.0 k/s; Kafka 3.0 k/s",
        "3.0 k/s; Kafka 4.0 k/s",
        "4.0 k/s; Kafka 5.0 k/s",
        "100 and 200 MB/s",
        "1,440 times as fast (24.0 h in 60 s CPU)",
        "10 seeds/s, 1 broken",
        "0.750 of 4 are true",
        "0.750 of 4 are true",
    ]


def test_figures_of_serve_are_held_against_a_broker_beside_it_where_there_is_one():
    alone = figures()
    records = [*alone.records, serve_records.Throughput(produced=120, consumed=240)]
    head, *lines = figures_table(replace(alone, records=records, is_beside=True)).splitlines()
    assert head.endswith(". Kafka is a broker beside.")
    assert any("| 100 and 200 MB/s; Kafka 120 and 240 MB/s |" in line for line in lines)


def test_a_new_table_takes_the_place_of_the_old_one_and_of_nothing_else():
    page = f"before\n{BEGIN}\nold\n{END}\nafter\n"
    assert put_into(page, "new") == f"before\n{BEGIN}\n\nnew\n\n{END}\nafter\n"
    assert put_into(put_into(page, "new"), "new") == put_into(page, "new")


def test_a_page_without_the_marks_is_left_alone():
    with pytest.raises(SystemExit, match="marks"):
        put_into("before\nafter\n", "new")
