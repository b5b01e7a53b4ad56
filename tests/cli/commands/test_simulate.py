"""`kgroup simulate`, as a user calls it."""

import json
import os
import re
import signal
from dataclasses import replace

import pytest

from kgroup.api import simulate as simulate_play
from kgroup.api import simulated_seeds
from kgroup.errors import InputError, KgroupError
from kgroup.sim.scenario.scenario import Scenario
from kgroup.sim.watch.result import ONE_OWNER, SETTLES, Violation

QUICK = ("--members", "2", "--partitions", "4", "--rate", "2", "--for", "15s")


def as_json(ended):
    assert ended.status == 0, ended.err
    return json.loads(ended.out)


def test_generations_states_shares_and_costs(kgroup):
    ended = kgroup("simulate", *QUICK, "--assignor", "sticky", "--at", "10s", "leave c1", "--seed", "7")
    assert ended.status == 0
    title, generations, lanes, shares, costs = ended.out.split("\n\n")
    assert title == "quick, sticky, seed 7"
    assert generations.splitlines()[0].split() == ["GEN", "AT", "N", "MOVED", "PROTOCOL", "WHY"]
    assert [line.split()[0] for line in generations.splitlines()[1:]] == ["1", "2"]
    assert "joined c1, c2" in generations
    assert "gone c1 (left: the consumer is being closed)" in generations
    assert [line.split()[0] for line in lanes.splitlines()[2:4]] == ["c1", "c2"]
    assert lanes.splitlines()[-1].split("  ")[-1] == "! fault"
    assert shares.splitlines() == [
        "MEMBER  GENERATION 1  GENERATION 2",
        "c1      t:0,2         -",
        "c2      t:1,3         t:0-3",
    ]
    assert costs.splitlines()[0].split() == ["MEASURE", "TOTAL"]
    assert all(len(line) <= 80 for line in ended.out.splitlines())


def test_the_same_seed_says_the_same_and_another_seed_something_else(kgroup):
    first, again, other = (
        kgroup("simulate", *QUICK, "--explain", "--seed", seed).out for seed in ("1", "1", "2")
    )
    assert first == again
    assert first.replace("seed 1", "seed 2") != other


def test_c1_leaves_under_sticky_and_the_others_keep_what_they_had(kgroup):
    ended = kgroup("simulate", "C1 leaves under sticky", "--no-headers")
    before = {"C0": "t0:0 t1:1 t3:0", "C1": "t0:1 t2:0 t3:1", "C2": "t1:0 t2:1"}
    # C0 and C2 keep all of it, and C1's three go to them: two to the one that had less.
    after = {"C0": "t0:0-1 t1:1 t3:0", "C1": "-", "C2": "t1:0 t2:0-1 t3:1"}
    shares = ended.out.split("\n\n")[3].splitlines()
    assert [line.split("  ") for line in map(squeezed, shares[:3])] == [
        [name, before[name], after[name]] for name in before
    ]


def squeezed(line):
    """Columns two spaces apart, however wide they are."""
    return "  ".join(cell.strip() for cell in line.split("  ") if cell.strip())


def test_a_fault_is_said_in_two_words_or_in_one(kgroup):
    two = kgroup("simulate", *QUICK, "--at", "5s", "kill c1", "-o", "json")
    one = kgroup("simulate", *QUICK, "--at", "5s kill c1", "-o", "json")
    assert as_json(two) == as_json(one)


def test_members_that_join_need_not_be_named_before(kgroup):
    ended = kgroup("simulate", *QUICK, "--at", "5s", "join c9")
    assert "joined c1, c2, c9" in ended.out


def test_json_has_the_measures_and_ends_with_counts(kgroup):
    answer = as_json(kgroup("simulate", *QUICK, "--seed", "4", "-o", "json"))
    assert list(answer)[-5:] == ["scenario", "seeds", "passed", "failed", "failing_seeds"]
    assert (answer["seeds"], answer["passed"], answer["failed"], answer["failing_seeds"]) == (1, 1, 0, [])
    (run,) = answer["runs"]
    assert (run["scenario"], run["seed"], run["violations"]) == ("quick", 4, [])
    assert run["generations"] == 1
    assert run["processed"] > 0
    (generation,) = run["history"]
    assert (generation["generation"], generation["members"], generation["why"]) == (1, 2, "joined c1, c2")
    assert generation["shares"] == {"c1": {"t": [0, 1]}, "c2": {"t": [2, 3]}}
    states = [state for _, state in run["states"]["c1"]]
    assert states[:2] == ["UNJOINED", "PREPARING_REBALANCE"]
    assert states[-1] == "STABLE"


def test_jsonl_has_every_event_and_then_the_run(kgroup):
    ended = kgroup("simulate", *QUICK, "-o", "jsonl")
    events = [json.loads(line) for line in ended.out.splitlines()]
    kinds = [event["type"] for event in events]
    assert kinds[-1] == "RunEnded"
    assert events[-1]["failing_seeds"] == []
    assert {"MemberStarted", "RequestSent", "ResponseReceived", "PartitionsChanged", "Settled"} <= set(kinds)
    times = [event["atMs"] for event in events[:-1]]
    assert times == sorted(times)


def test_a_trace_is_the_same_in_a_file(kgroup, tmp_path):
    trace = tmp_path / "trace.jsonl"
    shown = kgroup("simulate", *QUICK, "--trace", str(trace))
    assert shown.out.startswith("quick")
    events = kgroup("simulate", *QUICK, "-o", "jsonl").out.splitlines()
    assert trace.read_text().splitlines() == events[:-1]


def test_designs_side_by_side(kgroup):
    ended = kgroup("simulate", *QUICK, "--at", "8s", "kill c1", "--compare", "eager,cooperative,zookeeper")
    table = ended.out.split("\n\n")[1].splitlines()
    assert table[0].split() == ["MEASURE", "EAGER", "COOPERATIVE", "ZOOKEEPER"]
    assert [line[:33].strip() for line in table[1:4]] == ["notifications sent", "rebalances", "generations"]
    rows = as_json(kgroup("simulate", *QUICK, "--compare", "range,zookeeper", "-o", "json"))["runs"]
    assert [row["design"] for row in rows] == ["range", "zookeeper"]
    assert [row["generations"] for row in rows] == [1, None]


def test_one_of_the_designs_is_shown_as_a_run_of_its_own(kgroup):
    ended = kgroup("simulate", *QUICK, "--as", "zookeeper")
    assert ended.out.startswith("quick, zookeeper, seed 0\n")
    compared = kgroup("simulate", *QUICK, "--compare", "zookeeper").out
    assert compared.split("MEASURE")[1].split()[1:] == ended.out.split("MEASURE")[1].split()[1:]
    events = [
        json.loads(line)
        for line in kgroup("simulate", *QUICK, "--as", "zookeeper", "-o", "jsonl").out.splitlines()
    ]
    assert {"ZnodeOperation", "ZnodeChanged", "RunEnded"} <= {each["type"] for each in events}
    assert events[-1]["design"] == "zookeeper"
    rows = json.loads(kgroup("simulate", *QUICK, "--as", "zookeeper", "-o", "json").out)["runs"]
    assert [row["design"] for row in rows] == ["zookeeper"]
    traced = json.loads(kgroup("simulate", *QUICK, "--as", "zookeeper", "-o", "trace").out)["traceEvents"]
    assert {"getChildren", "create", "setData"} <= {each["name"] for each in traced}


def test_csv_has_a_line_for_each_run(kgroup):
    ended = kgroup("simulate", *QUICK, "--seeds", "3", "--seed", "5", "-o", "csv")
    head, *lines = ended.out.splitlines()
    assert head.startswith("scenario,design,seed,end_ms,settled_ms,notifications")
    assert [line.split(",")[3] for line in lines] == ["5", "6", "7"]  # the design has a comma


def test_the_story_explains_what_happens_the_first_time_and_does_not_repeat_itself(kgroup):
    ended = kgroup("simulate", *QUICK, "--explain", "--at", "8s", "kill c1")
    for step in (
        "c1 starts",
        "FIND_COORDINATOR: who coordinates g?",
        "MEMBER_ID_REQUIRED",
        "on_partitions_assigned",
        "!! kill c1",
        "g is Stable",
        "HEARTBEAT",
    ):
        assert step in ended.out
    assert ended.out.count("(KIP-394)") == 1
    assert all(len(line) <= 80 for line in ended.out.splitlines())


def test_a_topic_grows_to_a_number_and_not_by_it(kgroup):
    ended = kgroup("simulate", *QUICK, "--explain", "--at", "8s", "grow t to 24")
    assert "!! grow t to 24\n" in ended.out


def test_heartbeats_above_a_third_of_the_session_are_played_with_a_warning(kgroup, tmp_path):
    path = tmp_path / "seldom.toml"
    member = 'session_timeout = "6s"\nheartbeat_interval = "5s"\n'
    path.write_text(f'duration = "30s"\n[topics]\nt = 2\n[[members]]\nname = "m"\n{member}')
    ended = kgroup("simulate", str(path))
    assert ended.status == 0
    assert ended.err == (
        "kgroup: heartbeat.interval.ms=5000 is more than a third of session.timeout.ms=6000: one or two lost"
        " heartbeats end the session\n"
    )
    assert kgroup("simulate", str(path), "--quiet").err == ""


def test_the_story_has_the_commit_before_each_revocation(kgroup):
    ended = kgroup("simulate", *QUICK, "--explain", "--at", "12s", "leave c1")
    lines = ended.out.splitlines()
    revoked = [number for number, line in enumerate(lines) if "runs on_partitions_revoked" in line]
    assert revoked
    for number in revoked:
        said = " ".join(lines[number - 3 : number])
        assert re.search(r"c[12] has committed (t:\d@\d+ ?)+ of what it gives up", re.sub(r" +", " ", said))


def test_a_member_that_fails_is_named_with_its_reason(kgroup, tmp_path):
    path = tmp_path / "odd.toml"
    path.write_text(
        'duration = "20s"\n[topics]\nt = 2\n[[members]]\nname = "c1"\nassignors = ["range"]\n'
        '[[members]]\nname = "c2"\nstart = "8s"\nassignors = ["roundrobin"]\n'
    )
    ended = kgroup("simulate", str(path))
    said = re.search(r"^c2 ended at \S+s: .*\n.*", ended.out, re.MULTILINE)
    assert said is not None
    assert "INCONSISTENT_GROUP_PROTOCOL (it has no assignor in common" in said[0].replace("\n ", "")


def test_the_story_of_the_old_design(kgroup):
    ended = kgroup("simulate", *QUICK, "--at", "8s", "kill c1", "--compare", "zookeeper", "--explain")
    for step in (
        "registers as g_c1-",
        "is told that /consumers/g/ids changed",
        "ZooKeeper ends the session of c1",
    ):
        assert step in ended.out
    assert "JOIN_GROUP" not in ended.out


def test_the_list_of_scenarios_that_come_with_kgroup(kgroup):
    listed = json.loads(kgroup("simulate", "--list", "-o", "json").out)
    names = {row["scenario"] for row in listed}
    assert {"c1-leaves-under-sticky", "herd-effect", "chaos", "gc-pause", "static-restart"} <= names


def test_a_scenario_file_with_flags_over_it(kgroup, tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text('duration = "10s"\n[topics]\nt = 2\n[[members]]\nname = "m"\n')
    ended = kgroup(
        "simulate", str(path), "--nodes", "1", "--at", "5s", "restart m", "--assignor", "roundrobin"
    )
    assert ended.out.startswith("mine, roundrobin, seed 0\n")
    assert "gone m (left" in ended.out


class TestLogs:
    """What a simulation writes is what the other commands read."""

    @pytest.fixture
    def logs(self, kgroup, tmp_path):
        ended = kgroup("simulate", *QUICK, "--at", "8s", "leave c1", "--log-dir", str(tmp_path / "new"))
        assert ended.status == 0, ended.err
        return tmp_path / "new"

    def test_decode(self, kgroup, logs):
        rows = [json.loads(line) for line in kgroup("decode", str(logs), "-o", "jsonl").out.splitlines()]
        assert rows
        assert {row["key"]["group"] for row in rows} == {"g"}

    def test_replay(self, kgroup, logs):
        generations = as_json(kgroup("replay", str(logs), "--group", "g", "-o", "json"))
        assert [row["generation"] for row in generations] == [1, 2]
        assert len(generations[0]["joined"]) == 2

    def test_lag_report(self, kgroup, logs):
        rows = as_json(kgroup("lag-report", str(logs), "-o", "json"))
        assert [(row["topic"], row["partition"]) for row in rows] == [("t", n) for n in range(4)]
        assert all(0 <= row["lag"] <= row["log_end_offset"] for row in rows)

    def test_a_folder_with_something_in_it_is_left_alone(self, kgroup, logs):
        before = sorted(path.name for path in logs.iterdir())
        ended = kgroup("simulate", *QUICK, "--log-dir", str(logs))
        assert ended.status == 2
        assert "not empty; name a new" in ended.err
        assert sorted(path.name for path in logs.iterdir()) == before


class TestSeeds:
    """Many seeds, and what checkers find."""

    @pytest.fixture
    def broken(self, monkeypatch):
        """Checkers that find something under every third seed."""
        really = simulate_play.play

        def play(scenario, design, seed, **options):
            run = really(scenario, design, seed, **options)
            at_ms = scenario.epoch_ms + 1_500
            violation = Violation(checker=ONE_OWNER, at_ms=at_ms, what="t-0 is owned by c1 and c2")
            return replace(run, violations=(violation,) if seed % 3 == 0 else ())

        monkeypatch.setattr(simulate_play, "play", play)
        monkeypatch.setattr(simulated_seeds, "play", play)

    @pytest.fixture
    def known(self, monkeypatch):
        """Two owners by an answer that is Kafka's own."""
        really = simulate_play.play

        def play(scenario, design, seed, **options):
            run = really(scenario, design, seed, **options)
            what = "g: t-0: c1 and c2 in generation 5"
            return replace(run, known=(Violation(checker=ONE_OWNER, at_ms=scenario.epoch_ms, what=what),))

        monkeypatch.setattr(simulate_play, "play", play)
        monkeypatch.setattr(simulated_seeds, "play", play)

    @pytest.mark.parametrize("many", [("--seeds", "2"), ()], ids=["seeds", "one"])
    def test_what_kafka_does_wrong_too_is_said_and_no_failure(self, kgroup, known, many):
        ended = kgroup("simulate", *QUICK, *many, "-o", "jsonl")
        assert ended.status == 0
        assert "g: t-0: c1 and c2 in generation 5: Kafka's own assignor gives it to both" in ended.err
        rows = [json.loads(line) for line in ended.out.splitlines()]
        assert any(row.get("known") for row in rows)
        assert rows[-1]["failing_seeds"] == []

    def test_all_pass(self, kgroup):
        answer = as_json(kgroup("simulate", *QUICK, "--seeds", "4", "-o", "json"))
        counts = {"scenario": "quick", "seeds": 4, "passed": 4, "failed": 0, "failing_seeds": []}
        assert answer == {"runs": [], **counts}

    def test_failing_seeds_are_listed_and_the_status_is_3(self, kgroup, broken):
        ended = kgroup("simulate", *QUICK, "--seeds", "5", "--seed", "1", "-o", "json")
        assert ended.status == 3
        answer = json.loads(ended.out)
        assert {name: answer[name] for name in ("seeds", "passed", "failed", "failing_seeds")} == {
            "seeds": 5,
            "passed": 4,
            "failed": 1,
            "failing_seeds": [3],
        }
        assert answer["runs"][0]["violations"] == [
            {"checker": "one-owner", "at_ms": 1500, "what": "t-0 is owned by c1 and c2"}
        ]
        assert "seed 3, 1.500s: one-owner" in ended.err
        assert "--seed 3 --explain tells the story" in ended.err

    def test_as_a_table_and_as_json_lines(self, kgroup, broken):
        table = kgroup("simulate", *QUICK, "--seeds", "4")
        assert table.out.splitlines()[1].split() == ["quick", "4", "2", "2", "0,3"]
        lines = kgroup("simulate", *QUICK, "--seeds", "2", "-o", "jsonl").out.splitlines()
        assert [json.loads(line)["seed"] for line in lines[:-1]] == [0, 1]
        assert json.loads(lines[-1])["failing_seeds"] == [0]

    def test_a_single_run_that_breaks_a_promise_ends_with_3_too(self, kgroup, broken):
        ended = kgroup("simulate", *QUICK, "--seed", "3")
        assert ended.status == 3
        assert ended.out.startswith("quick")
        assert "t-0 is owned by c1 and c2" in ended.err

    def test_a_group_that_cannot_settle_is_a_violation_by_itself(self, kgroup):
        stuck = (*QUICK, "--nodes", "1", "--at", "10s", "kill node-1")
        ended = kgroup("simulate", *stuck, "-o", "json")
        assert ended.status == 3
        assert [each["checker"] for each in json.loads(ended.out)["runs"][0]["violations"]] == [SETTLES]


def test_files_that_cannot_be_written_are_named(kgroup, tmp_path):
    for option in ("--trace", "--output"):
        ended = kgroup("simulate", *QUICK, option, str(tmp_path / "none" / "file"))
        assert ended.status == 1
        assert "cannot write" in ended.err
    occupied = tmp_path / "file"
    occupied.write_text("x")
    ended = kgroup("simulate", *QUICK, "--log-dir", str(occupied))
    assert ended.status == 2


def test_the_states_of_the_consumer_protocol_have_letters_of_their_own(kgroup, tmp_path):
    scenario = tmp_path / "s.toml"
    scenario.write_text(
        'duration = "30s"\n[topics]\nt = 4\n[[members]]\nname = "c"\ncount = 2\nprotocol = "consumer"\n'
    )
    shown = kgroup("simulate", str(scenario)).out
    assert "j JOINING" in shown
    assert "PREPARING_REBALANCE" not in shown
    assert max(map(len, shown.splitlines())) <= 80
    states = json.loads(kgroup("simulate", str(scenario), "-o", "json").out)["runs"][0]["states"]
    assert states["c1"][-1][1] == "STABLE"


class TestManyProcesses:
    def test_several_processes_say_what_one_says(self, kgroup):
        one, two = (
            kgroup("simulate", "swarm", "--seed", "40", "--seeds", "6", "-o", "jsonl", "--jobs", jobs)
            for jobs in ("1", "2")
        )
        assert one.status == two.status == 0
        assert one.out == two.out
        assert [json.loads(line)["seed"] for line in one.out.splitlines()[:-1]] == [40, 41, 42, 43, 44, 45]

    def test_one_that_is_killed_is_no_silent_end(self):
        """A scenario whose making ends the process, as the system does when memory is short."""
        with pytest.raises(KgroupError, match="a process that played seeds was killed"):
            list(simulated_seeds.simulate_seeds(_killed, range(8), 2))

    def test_what_a_process_refuses_is_refused(self):
        with pytest.raises(InputError, match="no such world"):
            list(simulated_seeds.simulate_seeds(_refused, range(8), 2))


def _killed(seed: int) -> Scenario:
    os.kill(os.getpid(), signal.SIGKILL)
    raise AssertionError


def _refused(seed: int) -> Scenario:
    raise InputError(f"seed {seed}: no such world")
