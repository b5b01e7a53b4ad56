"""`kgroup join` in one group with clients that nobody here wrote, on the embedded cluster."""

import json
import queue
import re
import signal
import subprocess
import sys
import threading

import pytest

import kgroup.testing
from tests.net.test_client_stories import (
    GROUP,
    PARTITIONS,
    PATIENCE_S,
    QUICK_SESSIONS,
    TOPIC,
    Event,
    MemberProcess,
    Story,
    kinds,
    story,
)

SHORT = ("-X", "auto.commit.interval.ms=300", "-X", "metadata.max.age.ms=1000")
SHORT_SESSION = ("-X", "session.timeout.ms=3000", "-X", "heartbeat.interval.ms=500")


def command(bootstrap: str, *options: str) -> list[str]:
    where = ["-b", bootstrap, "--group", GROUP, "--from", "earliest", *SHORT]
    if "--pattern" not in options:
        where += ["--topic", TOPIC]
    if "consumer" not in options:
        where += SHORT_SESSION
    return [sys.executable, "-m", "kgroup", "join", *where, *options]


class JoinProcess(MemberProcess):
    """A running `kgroup join -o jsonl`. Value n of the story is in partition n % 6 at offset n // 6."""

    def __init__(
        self, bootstrap: str, said: "queue.Queue[tuple[MemberProcess, Event]]", *options: str
    ) -> None:
        self.read: list[str] = []
        self.owns: list[int] = []
        self.events: list[Event] = []
        self.ended = False
        self._said = said
        self.process = subprocess.Popen(
            command(bootstrap, "-o", "jsonl", *options), stdout=subprocess.PIPE, text=True
        )
        self.listener = threading.Thread(target=self._listen, daemon=True)
        self.listener.start()

    def take_in(self, event: Event) -> None:
        self.ended = event.get("ended", self.ended)
        if "event" not in event:
            return
        self.events.append(event)
        if event["event"] in ("assigned", "revoked", "lost"):
            named = {number for _, number in event["partitions"]}
            owned = set(self.owns)
            self.owns = sorted(owned | named if event["event"] == "assigned" else owned - named)
        elif event["event"] == "read":
            offsets = range(event["first_offset"], event["last_offset"] + 1)
            self.read += [str(offset * PARTITIONS + event["partition"]) for offset in offsets]


def join(life: Story, *options: str) -> JoinProcess:
    member = JoinProcess(life.kafka.bootstrap, life._said, *options)
    life.members.append(member)
    return member


def test_a_group_with_librdkafka_and_kafka_python_shares_takes_over_and_resumes() -> None:
    with story() as life:
        life.produce(60)
        ours = join(life)
        life.until_each_owns(6, ours)
        second = life.join("confluent")
        life.until_each_owns(3, ours, second)
        third = life.join("kafka-python")
        life.until_each_owns(2, ours, second, third)
        life.produce(60)
        life.until_all_is_read()

        life.leave(ours)
        assert ours.process.returncode == 0
        assert ours.events[-1]["event"] == "left"
        life.until_each_owns(3, second, third)
        life.produce(60)
        life.until_all_is_read()

        again = join(life)
        life.until_each_owns(2, again, second, third)
        life.kill(second)
        life.leave(third)
        life.until_each_owns(6, again)
        life.produce(60)
        life.until_all_is_read()
        life.leave(again)

        after = life.produce(12)
        resumed = join(life)
        life.until_all_is_read()
        assert sorted(resumed.read) == sorted(after)  # only what came after the last commits
        life.leave(resumed)


def test_it_leads_other_clients_and_notices_new_partitions() -> None:
    with story() as life:
        ours = join(life)
        life.until_each_owns(6, ours)
        second = life.join("confluent")
        life.until_each_owns(3, ours, second)
        leads = [event["leader"] for event in ours.events if event["event"] == "assigned"]
        assert leads[-1]
        life.kafka.create_partitions(TOPIC, PARTITIONS + 2)
        life.until(lambda: sorted(ours.owns + second.owns) == list(range(PARTITIONS + 2)))
        life.leave(ours)
        life.leave(second)


def test_a_coordinator_that_dies_costs_no_record() -> None:
    with story(nodes=3) as life:
        life.produce(30)
        first, second = join(life), join(life)
        life.until_each_owns(3, first, second)
        life.until_all_is_read()
        life.kafka.kill_node(life.kafka.coordinator_of(GROUP))
        life.produce(30)
        life.until_all_is_read()
        life.leave(first)
        life.leave(second)


def test_cooperative_members_keep_what_does_not_move() -> None:
    with story() as life:
        first = join(life, "--assignor", "cooperative-sticky")
        life.until_each_owns(6, first)
        second = join(life, "--assignor", "cooperative-sticky")
        life.until_each_owns(3, first, second)
        revoked = [event["partitions"] for event in first.events if event["event"] == "revoked"]
        assert [len(partitions) for partitions in revoked] == [3]
        life.leave(second)
        life.until_each_owns(6, first)
        life.leave(first)


def test_a_static_member_comes_back_without_a_rebalance() -> None:
    with story() as life:
        first = join(life, "--group-instance-id", "till-1", "-X", "session.timeout.ms=10000")
        life.until_each_owns(6, first)
        generation = first.events[-1].get("generation") or first.events[0]["generation"]
        life.leave(first)
        again = join(life, "--group-instance-id", "till-1", "-X", "session.timeout.ms=10000")
        life.until_each_owns(6, again)
        assert [event["generation"] for event in again.events if event["event"] == "assigned"] == [generation]
        life.leave(again)


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_the_trace_shows_the_conversation_and_a_signal_leaves(number: signal.Signals) -> None:
    with kgroup.testing.cluster(topics={TOPIC: PARTITIONS}) as kafka:
        with subprocess.Popen(
            command(kafka.bootstrap, "--trace"), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        ) as process:
            assert process.stdout is not None
            lines: list[str] = []
            for line in process.stdout:
                lines.append(line)
                if "<- HEARTBEAT" in line:
                    process.send_signal(number)
                    break
            rest, errors = process.communicate(timeout=PATIENCE_S)
        assert (process.returncode, errors) == (0, "")
        text = "".join(lines) + rest
        requests = re.findall(r"-> ([A-Z_]+) v", text)
        steps = "FIND_COORDINATOR JOIN_GROUP SYNC_GROUP OFFSET_FETCH LIST_OFFSETS FETCH HEARTBEAT LEAVE_GROUP"
        first_seen = [each for each in dict.fromkeys(requests) if each in steps.split()]
        assert first_seen == steps.split()
        assert requests.count("JOIN_GROUP") == 2
        assert "error_code: 79 MEMBER_ID_REQUIRED" in text
        assert "subscription v3: topics orders; user data null; owned none; generation -1; rack none" in text
        assert "assignment v3: orders:0,1,2,3,4,5" in text
        assert re.search(r"0000  00 0b 00 09 ", text)  # api key 11, version 9
        assert kafka.state()["groups"][0]["state"] == "Empty"


def test_where_no_broker_lets_it_leave_the_second_signal_ends_it() -> None:
    with kgroup.testing.cluster(topics={TOPIC: PARTITIONS}) as kafka:
        process = subprocess.Popen(
            command(kafka.bootstrap), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
        )
        assert process.stdout is not None and process.stderr is not None
        next(line for line in process.stdout if "committed" in line)  # so it will want to commit again
    with process:
        next(line for line in process.stderr if "cannot connect" in line)
        process.send_signal(signal.SIGINT)
        said = next(line for line in process.stderr if "Ctrl-C" in line)
        assert said == "kgroup: no broker has let it leave yet; the next Ctrl-C ends it at once\n"
        process.send_signal(signal.SIGINT)
        _, errors = process.communicate(timeout=PATIENCE_S)
    assert process.returncode in (130, -signal.SIGINT)
    assert "Traceback" not in errors


def test_several_members_share_and_leave_after_the_time_given() -> None:
    with kgroup.testing.cluster(topics={TOPIC: PARTITIONS}) as kafka:
        ended = subprocess.run(
            command(kafka.bootstrap, "--members", "2", "--for", "3s", "-o", "jsonl"),
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert (ended.returncode, ended.stderr) == (0, "")
        events = [json.loads(line) for line in ended.stdout.splitlines()]
        last = {event["member"]: len(event["partitions"]) for event in events if event["event"] == "assigned"}
        assert last == {f"consumer-{GROUP}-1": 3, f"consumer-{GROUP}-2": 3}
        assert kafka.state()["groups"][0]["members"] == 0


def test_a_closed_pipe_ends_it_quietly() -> None:
    with kgroup.testing.cluster(topics={TOPIC: PARTITIONS}) as kafka:
        joining = " ".join(command(kafka.bootstrap, "--trace"))
        ended = subprocess.run(
            ["bash", "-c", f"set -o pipefail; {joining} | head -3"],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
        assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize(
    ("options", "status", "why"),
    [
        ([], 2, "give exactly one of --topic"),
        (["--topic", "a", "--pattern", "b"], 2, "give exactly one of --topic"),
        (["--pattern", "("], 2, "topic pattern '('"),
        (["--topic", "a", "-b", "nowhere:0"], 2, "nowhere:0: ports are 1 to 65535"),
        (["--topic", "a", "-b", "127.0.0.1:1"], 1, "no broker answers: 127.0.0.1:1: Connection refused"),
        (["--topic", "a", "-o", "csv"], 2, "-o csv"),
        (["--topic", "a", "--assignor", "best"], 2, "no client-side assignor 'best'"),
        (["--topic", "a", "--for", "soon"], 2, "--for soon"),
        (
            ["--topic", "a", "-X", "session.timeout.ms=6000", "-X", "heartbeat.interval.ms=6000"],
            2,
            "heartbeat.interval.ms=6000 is not below session.timeout.ms=6000",
        ),
        (["--topic", "a", "-X", "session.timeout.ms=long"], 2, "session.timeout.ms=long"),
        (["--topic", "a", "--group-instance-id", ""], 2, "may not be empty"),
    ],
)
def test_what_makes_no_sense_is_one_line(options: list[str], status: int, why: str) -> None:
    ended = subprocess.run(
        [sys.executable, "-m", "kgroup", "join", "--group", GROUP, *options],
        capture_output=True,
        text=True,
        check=False,
        timeout=PATIENCE_S,
    )
    assert ended.returncode == status
    assert why in ended.stderr
    assert len(ended.stderr.splitlines()) == 1


def test_a_topic_that_is_not_there_is_named_once() -> None:
    with kgroup.testing.cluster() as kafka:
        ended = subprocess.run(
            [
                *(sys.executable, "-m", "kgroup", "join", "-b", kafka.bootstrap, "--group", GROUP),
                *("--topic", "oders", "--for", "1s", "-X", "metadata.max.age.ms=100"),
            ],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE_S,
        )
    assert ended.stderr == (
        "kgroup: consumer-story-1: there is no topic oders, or it may not be seen; waiting for it\n"
    )
    assert ended.returncode == 0


CONSUMER = ("--protocol", "consumer")


def test_members_of_the_consumer_protocol_share_take_over_and_resume() -> None:
    with story(properties=QUICK_SESSIONS) as life:
        life.produce(60)
        first = join(life, *CONSUMER)
        life.until_each_owns(6, first)
        second, third = join(life, *CONSUMER), join(life, *CONSUMER)
        life.until_each_owns(2, first, second, third)
        assert kinds(life) == ["Stable consumer"]
        life.produce(60)
        life.until_all_is_read()
        life.leave(second)
        life.until_each_owns(3, first, third)
        life.kill(third)
        life.until_each_owns(6, first)
        life.produce(60)
        life.until_all_is_read()
        life.leave(first)
        after = life.produce(12)
        resumed = join(life, *CONSUMER)
        life.until_all_is_read()
        assert sorted(resumed.read) == sorted(after)
        life.leave(resumed)


def test_one_group_has_members_of_both_protocols_from_three_clients() -> None:
    with story(properties=QUICK_SESSIONS) as life:
        life.produce(60)
        ours, theirs, old = join(life, *CONSUMER), life.join("confluent-848"), join(life)
        life.until_each_owns(2, ours, theirs, old)
        life.until_all_is_read()
        life.leave(theirs)
        life.until_each_owns(3, ours, old)
        life.leave(ours)
        life.until_each_owns(6, old)
        assert kinds(life) == ["Stable classic"]
        life.produce(60)
        life.until_all_is_read()
        life.leave(old)


def test_members_of_the_consumer_protocol_find_the_next_coordinator_and_lose_nothing() -> None:
    with story(nodes=3, properties=QUICK_SESSIONS) as life:
        life.produce(60)
        first, second = join(life, *CONSUMER), join(life, *CONSUMER)
        life.until_each_owns(3, first, second)
        coordinator = life.kafka.coordinator_of(GROUP)
        life.kafka.kill_node(coordinator)
        life.produce(60)
        life.until_all_is_read()
        life.kafka.start_node(coordinator)
        life.leave(first)
        life.until_each_owns(6, second)
        assert not [event for event in first.events + second.events if event["event"] == "lost"]
        life.leave(second)


def test_the_coordinator_matches_an_expression_and_runs_the_assignor_asked_for() -> None:
    with story(properties=QUICK_SESSIONS) as life:
        life.produce(12)
        member = join(life, *CONSUMER, "--pattern", "ord.*", "--assignor", "range")
        life.until_each_owns(6, member)
        life.until_all_is_read()
        life.leave(member)
        refused = subprocess.run(
            command(life.kafka.bootstrap, *CONSUMER, "--assignor", "sticky"),
            check=False,
            capture_output=True,
            text=True,
            timeout=PATIENCE_S,
        )
        assert refused.returncode == 1
        assert "ConsumerGroupHeartbeat: UNSUPPORTED_ASSIGNOR" in refused.stderr
