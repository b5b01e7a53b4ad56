"""The table of docs/questions.md: each command is run, and its answer held to what was done to the captures.

The truth is the captures' own: `story.json` (what the driver did), `groups.json` (what Kafka's tool
answered), `truth.jsonl` (the records, read by Kafka's own classes), `diary.jsonl` (what the
pipeline's clients noted).
"""

import json
import re
import shlex
from collections.abc import Callable
from datetime import datetime
from pathlib import Path
from typing import Any

import pytest

from tests.cli.conftest import Ended

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "questions.md"
LIVES = ROOT / "fixtures" / "3.9.1" / "lives"
QUESTIONS = 20
OPTIONS_MAX = 2


def table() -> dict[str, str]:
    """Question -> command."""
    rows = re.findall(r"^\| (.+\?) \| `(kgroup .+)` \|$", PAGE.read_text(encoding="utf-8"), re.M)
    return dict(rows)


def story(condition: str) -> dict[str, Any]:
    """The one condition of this name that held for a group."""
    (found,) = [each for each in _read("story.json")["truth"] if each["condition"] == condition]
    return dict(found)


def told(group: str) -> dict[str, Any]:
    """What Kafka's own tool said of a group when the broker was stopped."""
    return dict(_read("groups.json")["groups"][group])


def _read(name: str) -> Any:
    return json.loads((LIVES / name).read_text(encoding="utf-8"))


def rows(ended: Ended) -> list[list[str]]:
    """The cells of a table, which two blanks or more tell apart."""
    return [re.split(r" {2,}", line.strip()) for line in ended.out.splitlines()]


def at_ms(text: str) -> int:
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def who_is_stuck(ended: Ended) -> None:
    stopped = {row[0] for row in rows(ended) if row[1:2] == ["stopped-group"]}
    assert story("stuck-no-commits")["group"] in stopped
    stalled = {row[0] for row in rows(ended) if row[1:2] == ["stalled-partition"]}
    assert story("stuck-one-partition")["group"] in stalled
    assert not {"orders-app", "reports-reset", "sensor-sink", "nightly-idle"} & {
        row[0] for row in rows(ended)
    }


def since_when(ended: Ended) -> None:
    (finding,) = json.loads(ended.out)
    # Not before it was told to stop, and as soon as there was something to read.
    assert 0 <= finding["since"] - story("stuck-no-commits")["from_ms"] < 15_000


def which_partition(ended: Ended) -> None:
    truth = story("stuck-one-partition")
    topic, _, number = truth["partition"].rpartition("-")
    ((client, host),) = (
        (member["clientId"], member["host"])
        for member in told(truth["group"])["described"]["members"]
        if any(
            owned["topic"] == topic and int(number) in owned["partitions"] for owned in member["assignment"]
        )
    )
    assert f"stalled-partition ({truth['partition']}, {client})" in ended.out
    assert f"  {client} on {host}: " in ended.out


def committed_last(ended: Ended) -> None:
    last_ms = at_ms(rows(ended)[-1][0])
    assert -3000 <= last_ms - story("stuck-no-commits")["from_ms"] <= 1000


def how_far_behind(ended: Ended) -> None:
    shown = {row[0]: row for row in rows(ended)}
    offsets = {group: each["offsets"] for group, each in _read("groups.json")["groups"].items()}
    checked = 0
    for group, partitions in offsets.items():
        lags = [each["lag"] for each in partitions.values()]
        if group in shown and lags and None not in lags:
            assert int(shown[group][4]) == sum(max(lag, 0) for lag in lags), group
            checked += 1
    assert checked > 20


def who_reads(ended: Ended) -> None:
    readers = {
        group
        for group, each in _read("groups.json")["groups"].items()
        if any(place.startswith("payments-") for place in each["offsets"])
    }
    assert len(readers) > 3
    assert {row[0] for row in rows(ended)[1:]} == readers


def does_it_grow(ended: Ended) -> None:
    assert [row[:2] for row in rows(ended)[1:] if len(row) > 2] == [
        [story("lag-growing")["group"], "lag-growing"]
    ]


def how_it_got_there(ended: Ended) -> None:
    """A job that runs now and then, and ran for the last time before it is said to be over."""
    over_ms = story("no-membership")["from_ms"]
    by_partition: dict[str, list[int]] = {}
    for row in rows(ended)[1:]:
        if at_ms(row[0]) > over_ms:
            by_partition.setdefault(row[3], []).append(int(row[7]))
    assert sorted(by_partition) == ["0", "1", "2"]
    for number, lags in by_partition.items():
        assert lags == sorted(lags)
        assert lags[-1] == told("cron-exporter")["offsets"][f"payments-{number}"]["lag"]


def why_at(ended: Ended) -> None:
    truth = story("member-lost-by-session-timeout")
    (found,) = [row for row in rows(ended) if f"session-expired {truth['handle']}" in row[-1]]
    assert truth["from_ms"] <= at_ms(found[1]) <= truth["to_ms"]
    assert {row[1][:16] for row in rows(ended)[1:]} == {"2026-11-20T12:43"}


def left_or_thrown_out(ended: Ended) -> None:
    events = [each for each in _read("story.json")["events"] if each["group"] == "orders-app"]
    (closed,) = [each["handle"] for each in events if each["what"] == "stop-member"]
    (killed,) = [each["handle"] for each in events if each["what"] == "kill-member"]
    went = {row[2]: row[-1] for row in rows(ended) if row[2] in ("leave", "session-expired")}
    assert set(went) == {"leave", "session-expired"}
    lost = {row[-1].partition(":")[0] for row in rows(ended) if row[2] == "lost"}
    assert {closed, killed} <= lost


def because_of_whom(ended: Ended) -> None:
    events = [each for each in _read("story.json")["events"] if each["group"] == "push-storm"]
    clients = [each.get("client") or each["handle"] for each in events if each["what"] == "start-member"]
    restless = max(set(clients), key=clients.count)
    said = re.search(rf"rebalance-storm: (\d+) rebalances in .*; {restless} on ", ended.err)
    assert said
    assert int(said[1]) >= story("rebalance-storm")["joins"] == clients.count(restless)


def another_static_member(ended: Ended) -> None:
    (truth,) = [
        each for each in _read("story.json")["truth"] if each["condition"] == "static-member-replaced"
    ]
    found = [row for row in rows(ended) if row[2] == "static-restart" and truth["instance"] in row[-1]]
    assert any(truth["from_ms"] - 1000 <= at_ms(row[0]) <= truth["to_ms"] for row in found)


def a_reset(ended: Ended) -> None:
    truth = story("rewind-by-admin")
    (found,) = [row for row in rows(ended) if row[2] == "offset-reset"]
    assert abs(at_ms(found[0]) - truth["from_ms"]) < 1000
    for place in truth["before"].split():
        partition, _, offset = place.partition("=")
        assert f"{partition}: {offset} to {truth['to']}" in found[-1]


def read_twice(ended: Ended) -> None:
    before = dict(place.split("=") for place in story("rewind-by-admin")["before"].split())
    assert {row[1]: row[3] for row in rows(ended)[1:]} == before
    assert {row[0] for row in rows(ended)[1:]} == {"doubled"}


def may_i_reset(ended: Ended) -> None:
    assert told("left-behind")["described"]["members"] == []
    assert "Reset now: safe: no members for " in ended.out


def a_lost_commit(ended: Ended) -> None:
    offsets = re.findall(r"\d{4}", story("aborted-transaction")["note"])
    aborted = [row for row in rows(ended) if row[-1] == "aborted"]
    assert [row[2] for row in aborted] == offsets
    assert all(abs(at_ms(row[0]) - story("aborted-transaction")["from_ms"]) < 1000 for row in aborted)


def nobody_came_or_went(ended: Ended) -> None:
    truth = story("partitions-added")
    (found,) = [row for row in rows(ended) if row[-1].startswith("topic-grew")]
    # Members see the new partitions when they next ask for the topic's metadata.
    assert truth["from_ms"] < at_ms(found[1]) < truth["to_ms"]


def waits_for(ended: Ended) -> None:
    diary = (ROOT / "fixtures/pipeline/4.3.1/diary.jsonl").read_text(encoding="utf-8").splitlines()
    noted = [json.loads(line) for line in diary]
    (writer,) = {each["group"] for each in noted if "invoices" in each["writes"]}
    (source,) = {each["group"] for each in noted if "orders-enriched" in each["writes"]}
    assert f"mailer < invoices < {writer} < orders-enriched < {source}" in " ".join(ended.out.split())


def which_offsets_partition(ended: Ended) -> None:
    lines = (LIVES / "truth.jsonl").read_text(encoding="utf-8").splitlines()
    (partition,) = {
        record["partition"]
        for record in map(json.loads, lines)
        if (record.get("key") or {}).get("group") == "orders-app"
    }
    (found,) = [row for row in rows(ended) if row[0] == "orders-app"]
    assert (found[1], found[4]) == (str(partition), str(partition))


def will_it_load(ended: Ended) -> None:
    """A 4.3.1 broker that was started on it failed at that partition (docs/fsck.md)."""
    story_of = json.loads((ROOT / "fixtures/2.4.1/lives/story.json").read_text(encoding="utf-8"))["truth"]
    (group,) = [each["group"] for each in story_of if each["condition"] == "undecodable-member-metadata"]
    assert ended.status == 3
    assert f"not reachable on 4.3.1: 1 group: {group}" in ended.err
    assert [row[1] for row in rows(ended)].count("fails") == 1


ANSWERS: dict[str, Callable[[Ended], None]] = {
    "Which groups are stuck?": who_is_stuck,
    "Since when?": since_when,
    "Which partition is it, who owns it, and on which host?": which_partition,
    "When did it last commit?": committed_last,
    "How far behind is every group?": how_far_behind,
    "Who reads this topic?": who_reads,
    "Is it catching up, or is the lag growing?": does_it_grow,
    "How did the lag get there?": how_it_got_there,
    "Why did it rebalance at 12:43?": why_at,
    "Did the member leave, or was it kicked out?": left_or_thrown_out,
    "It keeps rebalancing: which member is to blame?": because_of_whom,
    "Did a static member come back as another one?": another_static_member,
    "Did someone reset offsets?": a_reset,
    "What was read twice because of that?": read_twice,
    "Can I reset this one now?": may_i_reset,
    "Was a commit lost with its transaction?": a_lost_commit,
    "Why did it rebalance when nobody joined or left?": nobody_came_or_went,
    "Which group is it waiting for?": waits_for,
    "Which partition of the offsets topic stores it?": which_offsets_partition,
    "Will a broker of the new version load this log?": will_it_load,
}


def test_there_are_twenty_and_each_has_a_truth() -> None:
    assert list(table()) == list(ANSWERS)
    assert len(ANSWERS) == QUESTIONS


@pytest.mark.parametrize("question", ANSWERS)
def test_a_question_takes_one_command_and_two_options_at_most(question: str) -> None:
    words = shlex.split(table()[question])
    assert not set(words) & {"|", "&&", ";"}
    assert sum(word.startswith("-") for word in words) <= OPTIONS_MAX


@pytest.mark.parametrize("question", ANSWERS)
def test_its_answer_is_what_was_done(
    question: str, kgroup: Callable[..., Ended], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    ended = kgroup(*shlex.split(table()[question])[1:])
    assert ended.status in (0, 3), ended.err
    ANSWERS[question](ended)
