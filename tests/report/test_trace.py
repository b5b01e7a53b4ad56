"""Traces for viewers, read by a parser of the Trace Event Format, against what replay and simulate say."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import pytest

from kgroup.api.simulate import simulate
from kgroup.cli.narrate.trace_tracks import RunTracks
from kgroup.cli.shell.app import main
from kgroup.history.groups.model import GroupKind
from kgroup.history.timeline.model import Generation, Roster, Timeline
from kgroup.report.timeline.trace_tracks import timeline_tracks
from kgroup.report.trace_format import Exchange, Moment, Span, trace_lines
from kgroup.sim.scenario.file import load_shipped
from tests.log.truth import FIXTURES

LIVES = str(FIXTURES / "3.9.1/lives")


@dataclass
class Trace:
    """A trace as the format has it: events by the names of process and track."""

    spans: dict[tuple[str, str], list[Mapping[str, Any]]]
    moments: dict[tuple[str, str], list[Mapping[str, Any]]]
    exchanges: dict[tuple[str, str], list[tuple[Mapping[str, Any], Mapping[str, Any]]]]


def parsed(text: str) -> Trace:
    """Fails for what the Trace Event Format does not allow: it is said there what each phase must have."""
    document = json.loads(text)
    assert document["displayTimeUnit"] in ("ms", "ns")
    names: dict[tuple[str, int, int], str] = {}
    trace = Trace(defaultdict(list), defaultdict(list), defaultdict(list))
    begun: dict[tuple[str, int, int], Mapping[str, Any]] = {}
    for event in document["traceEvents"]:
        assert isinstance(event["pid"], int) and isinstance(event["tid"], int)
        if event["ph"] == "M":
            kind, key, value = (
                event["name"],
                *{
                    "process_name": ("process", "name"),
                    "thread_name": ("track", "name"),
                    "process_sort_index": ("process order", "sort_index"),
                    "thread_sort_index": ("track order", "sort_index"),
                }[event["name"]],
            )
            place = (key, event["pid"], event["tid"])
            assert place not in names, kind
            names[place] = event["args"][value]
            continue
        where = (names["process", event["pid"], 0], names["track", event["pid"], event["tid"]])
        assert isinstance(event["name"], str) and event["ts"] >= 0
        match event["ph"]:
            case "X":
                assert event["dur"] >= 0
                trace.spans[where].append(event)
            case "i":
                assert event["s"] in ("g", "p", "t")
                trace.moments[where].append(event)
            case "b" | "e":
                key = (event["cat"], event["id"], event["tid"])
                if event["ph"] == "b":
                    assert key not in begun
                    begun[key] = event
                else:
                    first = begun.pop(key)
                    assert first["ts"] <= event["ts"] and first["name"] == event["name"]
                    trace.exchanges[where].append((first, event))
            case other:
                raise AssertionError(f"no such phase here: {other}")
    assert begun == {}
    for spans in trace.spans.values():
        ends = 0
        for span in sorted(spans, key=lambda span: (span["ts"], span["dur"])):
            assert span["ts"] >= ends, "spans of a track overlap"
            ends = span["ts"] + span["dur"]
    return trace


def answered(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(arguments)
    assert ended.value.code == 0
    return capsys.readouterr().out


def replayed(capsys: pytest.CaptureFixture[str], group: str, *more: str) -> str:
    return answered(capsys, "replay", LIVES, "--group", group, "-q", *more)


@pytest.mark.parametrize("group", ["orders-app", "push-storm", "ledger-static", "cron-exporter"])
def test_a_replay_has_each_generation_with_its_causes_and_each_member_with_its_partitions(
    group: str, capsys: pytest.CaptureFixture[str]
) -> None:
    trace = parsed(replayed(capsys, group, "-o", "trace"))
    rows: Sequence[Mapping[str, Any]] = json.loads(replayed(capsys, group, "-o", "json"))
    of_group = f"group {group}"
    spans = trace.spans[of_group, "generations"]
    assert [(span["args"]["generation"], span["ts"]) for span in spans] == [
        (row["generation"], row["time"] * 1000) for row in rows
    ]
    for span, row, following in zip(spans, rows, [*rows[1:], None][: len(rows)], strict=True):
        if following is not None:
            assert span["ts"] + span["dur"] == following["time"] * 1000
        assert [cause["cause"] for cause in span["args"]["causes"]] == [c["cause"] for c in row["causes"]]
        assert [cause["grade"] for cause in span["args"]["causes"]] == [c["grade"] for c in row["causes"]]
        assert span["args"]["moved"] == row["moved"]
        members = [
            each
            for (process, track), each_of in trace.spans.items()
            if process == of_group and track != "generations"
            for each in each_of
            if each["args"]["generation"] == row["generation"]
        ]
        assert len(members) == row["members"]
        assert all((each["ts"], each["dur"]) == (span["ts"], span["dur"]) for each in members)
        gained = {each["args"]["member_id"]: each["args"]["gained"] for each in members}
        assert {who: what for who, what in gained.items() if what} == {
            who: what for who, what in row["gained"].items() if who in gained
        }
    assert len(trace.moments[of_group, "generations"]) == len(rows)


def test_what_happens_between_generations_is_on_a_track_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trace = parsed(replayed(capsys, "reports-reset", "-o", "trace"))
    events = trace.moments["group reports-reset", "events"]
    assert "offset-reset" in [event["args"]["cause"] for event in events]


def test_a_run_has_members_states_what_they_read_requests_nodes_and_faults(
    capsys: pytest.CaptureFixture[str],
) -> None:
    scenario = load_shipped("gc-pause")
    trace = parsed(answered(capsys, "simulate", "gc-pause", "-o", "trace", "-q"))
    heard: list[Any] = []
    run = simulate(scenario, on_event=heard.append)
    asked = sum(type(event).__name__ == "RequestSent" for event in heard)
    failed_or_answered = sum(type(event).__name__ in ("ResponseReceived", "RequestFailed") for event in heard)
    exchanges = sum(len(each) for each in trace.exchanges.values())
    assert 0 < exchanges <= min(asked, failed_or_answered)
    formed = [
        (span["name"], span["ts"], span["args"]["why"])
        for (process, _), spans in trace.spans.items()
        if process == "groups"
        for span in spans
    ]
    assert formed == [
        (f"generation {each.generation}", each.at_ms * 1000, each.why) for each in run.chronicle.generations()
    ]
    last_ms = (run.end_ms - scenario.epoch_ms) * 1000
    for member, reads in run.chronicle.last_reads().items():
        newest = trace.spans["members", f"{member} reads"][-1]
        assert newest["ts"] + newest["dur"] == last_ms
        assert newest["args"]["partitions"] == [f"{topic}-{partition}" for topic, partition in reads]
        assert {span["name"] for span in trace.spans["members", member]} >= {"STABLE"}
    faults = [event for (process, _), each in trace.moments.items() if process == "faults" for event in each]
    assert [event["name"] for event in faults if not event["name"].endswith(" ends")] == [
        fault.kind.value for fault in scenario.faults
    ]


def test_the_same_seed_gives_the_same_trace(capsys: pytest.CaptureFixture[str]) -> None:
    first, second = (answered(capsys, "simulate", "gc-pause", "-o", "trace", "-q") for _ in range(2))
    assert first == second


def test_tracks_are_numbered_and_named_once() -> None:
    items = [
        Span(process="p", track="a", name="one", begin_ms=1, end_ms=3),
        Moment(process="q", track="b", name="two", at_ms=2, args={"why": "\x1b"}),
        Span(process="p", track="a", name="three", begin_ms=3, end_ms=3),
        Exchange(process="p", track="c", name="four", begin_ms=1, end_ms=9, number=7),
    ]
    text = "\n".join(trace_lines(items))
    trace = parsed(text)
    assert "\x1b" not in text
    assert [(span["name"], span["ts"], span["dur"]) for span in trace.spans["p", "a"]] == [
        ("one", 1000, 2000),
        ("three", 3000, 0),
    ]
    assert trace.moments["q", "b"][0]["args"] == {"why": "\x1b"}
    assert [(first["ts"], last["ts"]) for first, last in trace.exchanges["p", "c"]] == [(1000, 9000)]
    assert json.loads("\n".join(trace_lines([]))) == {"displayTimeUnit": "ms", "traceEvents": []}


def test_a_generation_without_a_time_has_no_place_and_a_clock_that_went_back_makes_no_span() -> None:
    def generation(number: int, at_ms: int | None) -> Generation:
        roster = Roster(
            kind=GroupKind.CLASSIC,
            generation=number,
            at_ms=at_ms,
            offset=number,
            offsets_partition=0,
            leader_epoch=0,
        )
        return Generation(roster=roster)

    timeline = Timeline(
        group_id="g", generations=[generation(1, None), generation(2, 500), generation(3, 400)]
    )
    spans = [item for item in timeline_tracks([timeline]) if isinstance(item, Span)]
    assert [(span.name, span.begin_ms, span.end_ms) for span in spans] == [
        ("generation 2", 500, 500),
        ("generation 3", 400, 400),
    ]


def test_a_run_of_no_events_has_no_tracks() -> None:
    assert list(RunTracks(load_shipped("gc-pause")).items([], 0)) == []
