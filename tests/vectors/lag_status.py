"""`lag_status.jsonl`: what Burrow's own storage and evaluator said of windows and streams of events.

Format: `fixtures/vectors/lag_status.README.md`. A line is one case.
"""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kgroup.lag.status import burrow_rules
from kgroup.lag.status.burrow_rules import as_float32
from kgroup.lag.status.model import GroupStatus
from kgroup.lag.status.rule_sets import BurrowRules, judge
from kgroup.lag.status.window import CommitWindow, LogEnd, WindowCommit
from tests.vectors.burrow_store import BurrowConfig, BurrowStore, GroupVerdict
from tests.vectors.case import Case, VectorError

Json = dict[str, Any]
_GROUP = "group"  # an event names no group: there is one


def cases(path: Path) -> Iterator[Case]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _case(f"{path.name}:{number}", line)


def _case(line_name: str, line: str) -> Case:
    try:
        known = json.loads(line)
        name, question, expected = f"{line_name} {known['id']}", known["in"], known["expect"]
        answer = _window_answer(question) if known["kind"] == "window" else _group_answer(question)
        wanted = _with_floats32(expected)
    except (ValueError, KeyError, TypeError, AttributeError, IndexError, AssertionError) as error:
        raise VectorError(f"{line_name} is no lag status: {error!r}") from error
    return Case(name, _difference(answer, wanted))


def _difference(answer: Json, wanted: Json) -> str | None:
    fields = answer.keys() | wanted.keys()
    differing = [field for field in sorted(fields) if answer.get(field) != wanted.get(field)]
    differences = (f"{field} is {answer.get(field)}, Burrow says {wanted.get(field)}" for field in differing)
    return "; ".join(differences) or None


def _with_floats32(expected: Json) -> Json:
    wanted = {**expected}
    if "complete" in wanted:
        wanted["complete"] = as_float32(wanted["complete"])
    if "partitions" in wanted:
        wanted["partitions"] = [_with_floats32(partition) for partition in wanted["partitions"]]
    return wanted


def _window_answer(question: Json) -> Json:
    stored = question["window"]
    empty = next((index for index, commit in enumerate(stored) if commit is not None), len(stored))
    commits = tuple(_commit(commit) for commit in stored[empty:])
    heads = tuple(LogEnd(offset=offset) for offset in question["heads"])
    window = CommitWindow(slots=len(stored), commits=commits, heads=heads)
    now_ms = question["now_s"] * 1000
    rules = BurrowRules(allowed_lag=question["allowed_lag"], minimum_complete=question["minimum_complete"])
    # The lag is given apart from the heads, and in a few cases does not follow from them.
    end_offset = question["current_lag"] + (commits[-1].offset if commits else 0)
    verdict = judge(window, end_offset, now_ms, rules)
    answer: Json = {"status": verdict.status, "complete": verdict.complete}
    if not commits:
        # Without a commit there is nothing to count from: Burrow's evaluator hands on what it was given.
        return {**answer, "current_lag": question["current_lag"]}
    return {**answer, "current_lag": verdict.lag, "rules": _rules(window, now_ms, rules)}


def _rules(window: CommitWindow, now_ms: int, rules: BurrowRules) -> Json:
    commits = window.commits
    rewind = burrow_rules.rewind_index(commits)
    answer = {
        "stopped": burrow_rules.is_stopped(commits, now_ms),
        "recent_lag_zero": burrow_rules.was_caught_up(commits, window.heads),
        "rewind_index": rewind,
        "lag_never_within_allowed": burrow_rules.within_allowed_index(commits, rules.allowed_lag) < 0,
        "stalled": burrow_rules.is_stalled(commits),
        "lag_not_decreasing": burrow_rules.lag_fall(commits) is None,
    }
    if rewind >= 0:
        answer["rewind_recovered"] = burrow_rules.is_rewind_recovered(commits, rewind)
    return answer


def _group_answer(question: Json) -> Json:
    config, now_ms = question["config"], question["now_s"] * 1000
    store = BurrowStore(
        BurrowConfig(
            intervals=config["intervals"],
            min_distance_s=config["min_distance_s"],
            expire_group_s=config["expire_group_s"],
            rules=BurrowRules(allowed_lag=config["allowed_lag"], minimum_complete=config["minimum_complete"]),
        )
    )
    for event in question["events"]:
        _feed(store, event, config["partitions"], now_ms)
    return _group_json(store.judge(_GROUP, now_ms))


def _feed(store: BurrowStore, event: Json, partition_count: int, now_ms: int) -> None:
    match event["t"]:
        case "head":
            store.add_log_end(event["topic"], event["p"], event["offset"], event["ts"], partition_count)
        case "commit":
            topic, partition, offset = event["topic"], event["p"], event["offset"]
            store.add_commit(_GROUP, topic, partition, offset, event["ts"], event["order"], now_ms)
        case "delete_topic":
            store.delete_topic(event["topic"])
        case "delete_group":
            store.delete_group(_GROUP, event.get("topic"))
        case other:
            raise ValueError(f"no such event: {other}")


def _group_json(group: GroupVerdict) -> Json:
    if group.status is GroupStatus.NOT_FOUND:
        return {"status": group.status}
    return {
        "status": group.status,
        "complete": group.complete,
        "max_lag": group.max_lag,
        "total_lag": group.total_lag,
        "partition_count": len(group.partitions),
        "partitions": [
            {
                "topic": partition.topic,
                "partition": partition.partition,
                "window": _window_json(partition.window),
                "heads": [head.offset for head in partition.window.heads],
                "current_lag": partition.verdict.lag,
                "status": partition.verdict.status,
                "complete": partition.verdict.complete,
            }
            for partition in group.partitions
        ],
    }


def _window_json(window: CommitWindow) -> list[Json | None]:
    empty: list[Json | None] = [None] * (window.slots - len(window.commits))
    return empty + [
        {"offset": commit.offset, "ts": commit.timestamp, "lag": commit.lag} for commit in window.commits
    ]


def _commit(stored: Json) -> WindowCommit:
    return WindowCommit(offset=stored["offset"], timestamp=stored["ts"], lag=stored["lag"])
