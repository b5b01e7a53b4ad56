from pathlib import Path

import pytest

from kgroup.errors import InputError, SourceError
from kgroup.sim.scenario.file import load_scenario, load_shipped, read_scenario, shipped_names
from kgroup.sim.scenario.scenario import (
    Chaos,
    CommitMode,
    Fault,
    FaultKind,
    NetworkSettings,
    Scenario,
    SimMember,
    SimTopic,
    ZookeeperSettings,
)

SMALL = """
duration = "10s"
[topics]
t = 2
[[members]]
name = "c1"
"""


def read(text):
    return read_scenario(text, "name", "file.toml")


def test_little_has_to_be_said():
    assert read(SMALL) == Scenario(
        name="name",
        duration_ms=10_000,
        topics=(SimTopic(name="t", partitions=2),),
        members=(SimMember(name="c1", topics=("t",)),),
    )


def test_everything_can_be_said():
    scenario = read(
        """
        about = "All keys."
        duration = "2m"
        settle = "1m30s"
        nodes = 5
        faults = ["10s kill c1 for 5s", "1m join late"]
        [topics]
        orders = { partitions = 6, records_per_s = 12.5 }
        payments = 3
        [[members]]
        name = "c"
        count = 2
        every = "500ms"
        start = "1s"
        static = true
        group = "shop"
        topics = ["orders"]
        assignors = ["sticky", "range"]
        session_timeout = "12s"
        heartbeat_interval = "4s"
        max_poll_interval = "1m"
        max_poll_records = 10
        processing_ms = 2.5
        commit = "after-processing"
        auto_commit_interval = "2s"
        [[members]]
        name = "late"
        start = "never"
        [chaos]
        every = "30s"
        lasting = "5s"
        kinds = ["kill", "cut"]
        [network]
        latency = ["2ms", "9ms"]
        loss_percent = 1
        duplicate_percent = 0.5
        [zookeeper]
        session_timeout = "9s"
        rebalance_max_retries = 2
        rebalance_backoff = "1s"
        [brokers]
        "group.initial.rebalance.delay.ms" = 0
        "auto.create.topics.enable" = false
        """
    )
    member = SimMember(
        name="c1",
        group="shop",
        topics=("orders",),
        start_ms=1_000,
        assignors=("sticky", "range"),
        instance_id="c1",
        session_timeout_ms=12_000,
        heartbeat_interval_ms=4_000,
        max_poll_interval_ms=60_000,
        max_poll_records=10,
        processing_ms=2.5,
        commit_mode=CommitMode.AFTER_PROCESSING,
        auto_commit_interval_ms=2_000,
    )
    assert scenario.members[0] == member
    assert [(each.name, each.start_ms, each.instance_id) for each in scenario.members[1:]] == [
        ("c2", 1_500, "c2"),
        ("late", None, None),
    ]
    assert scenario.members[2].topics == ("orders", "payments")
    assert scenario.topics == (
        SimTopic(name="orders", partitions=6, records_per_s=12.5),
        SimTopic(name="payments", partitions=3),
    )
    assert (scenario.about, scenario.settle_ms, scenario.nodes) == ("All keys.", 90_000, 5)
    assert scenario.faults == (
        Fault(at_ms=10_000, kind=FaultKind.KILL, target="c1", duration_ms=5_000),
        Fault(at_ms=60_000, kind=FaultKind.START, target="late"),
    )
    assert scenario.chaos == Chaos(
        mean_interval_ms=30_000, mean_duration_ms=5_000, kinds=(FaultKind.KILL, FaultKind.CUT)
    )
    assert scenario.network == NetworkSettings(
        latency_min_ms=2, latency_max_ms=9, loss_percent=1.0, duplicate_percent=0.5
    )
    assert scenario.zookeeper == ZookeeperSettings(
        session_timeout_ms=9_000, rebalance_max_retries=2, rebalance_backoff_ms=1_000
    )
    assert scenario.properties == {
        "group.initial.rebalance.delay.ms": "0",
        "auto.create.topics.enable": "false",
    }


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("a = 1\nb = ?", "no TOML: .*line 2"),
        ("a = " + "[" * 5000, "no TOML"),
        ("", "there is no 'duration'"),
        ('duration = "10s"\n[topics]\nt = 1', "there is no 'members'"),
        (SMALL.replace("duration", "durations"), "durations: no such key: did you mean duration\\?"),
        (SMALL.replace('"10s"', "10"), "duration: should be a duration like '10s' or '1m30s', and is 10"),
        (SMALL.replace('"10s"', '"0s"'), "duration: should be longer than nothing"),
        ("nodes = 0" + SMALL, "nodes: should be a whole number from 1 to 100, and is 0"),
        ("nodes = true" + SMALL, "nodes: should be a whole number"),
        ("nodes = 2.0" + SMALL, "nodes: should be a whole number"),
        ("settle = 1979-05-27" + SMALL, "settle: should be a duration"),
        ("topics = 3\n" + SMALL.replace("[topics]\nt = 2", ""), "topics: should be a table, and is 3"),
        (SMALL.replace("t = 2", 't = "2"'), "topics.t.partitions: should be a whole number"),
        (SMALL.replace("t = 2", "t = {}"), "topics.t: there is no 'partitions'"),
        (SMALL.replace("t = 2", "t = { partitions = 2, rate = 1 }"), "topics.t.rate: no such key"),
        (SMALL.replace("t = 2", '"a b" = 2'), "topic 'a b': not a name that Kafka allows"),
        (SMALL.replace("t = 2", "__consumer_offsets = 2"), "topic '__consumer_offsets': not a name"),
        (SMALL.replace("t = 2", ""), "there has to be a topic"),
        (SMALL.replace("[[members]]", "[members]"), "members: should be a list"),
        (SMALL.replace('name = "c1"', ""), "members\\[1\\]: there is no 'name'"),
        (SMALL.replace('"c1"', '""'), "members\\[1\\].name: should be text, and is ''"),
        (SMALL.replace('"c1"', '"c 1"'), "member 'c 1': names have letters, digits"),
        (SMALL.replace('"c1"', '"node-1"'), "member 'node-1': that name is reserved for nodes"),
        (SMALL + '[[members]]\nname = "c1"', "member 'c1' is given twice"),
        (SMALL + "count = 1001", "members\\[1\\].count: should be a whole number from 1 to 1000"),
        (SMALL + "count = 600\n[[members]]\nname='d'\ncount = 600", "members\\[2\\]: more than 1000 members"),
        (SMALL + 'every = "1s"', "members\\[1\\].every: needs a count"),
        (SMALL + 'count = 2\nevery = "1s"\nstart = "never"', "every: needs a count, and a start"),
        (SMALL + 'start = "20m"', "member 'c1': starts when the run is over"),
        (SMALL + 'topics = ["u"]', "member 'c1': there is no topic 'u'"),
        (SMALL + 'pattern = "["', "member 'c1': topic pattern '\\['"),
        (SMALL + 'pattern = "t"\ntopics = ["t"]', "members\\[1\\].pattern: topics and a pattern exclude"),
        (SMALL + "pattern = 3", "members\\[1\\].pattern: should be text"),
        (SMALL.replace("t = 2", "t = { partitions = 2, start = 3 }"), "topics.t.start: should be"),
        (
            SMALL.replace("t = 2", 't = { partitions = 2, start = "20m" }'),
            "topic 't': is created after the run is over",
        ),
        (
            "producers = 1" + SMALL.replace("t = 2", 't = { partitions = 2, start = "1s" }'),
            "producers and strangers need a first topic",
        ),
        (SMALL + "topics = []", "members\\[1\\].topics: should be a list of texts"),
        (SMALL + 'topics = ["t", "t"]', "members\\[1\\].topics: has a text twice"),
        (SMALL + 'assignors = ["uniform"]', "there is no assignor 'uniform': "),
        (SMALL + 'commit = "never"', "commit: should be auto or after-processing"),
        (SMALL + "commit = [1]", "commit: should be auto or after-processing"),
        (SMALL + "static = 1", "static: should be true or false"),
        (SMALL + "processing_ms = -1", "processing_ms: should be a number from 0"),
        (SMALL + "processing_ms = nan", "processing_ms: should be a number from 0"),
        (SMALL + 'heartbeat_interval = "45s"', "the heartbeat interval is not below the session"),
        (SMALL + 'session_timeout = "5s"\nheartbeat_interval = "1s"', "the brokers refuse a session timeout"),
        (SMALL + "sesion_timeout = 1", "sesion_timeout: no such key: did you mean session_timeout\\?"),
        ("faults = 'kill'" + SMALL, "faults: should be a list"),
        ("faults = [10]" + SMALL, "faults\\[1\\]: should be text like"),
        ("faults = ['kill c1']" + SMALL, "faults\\[1\\]: 'kill' is not a time"),
        ("faults = ['1s kil c1']" + SMALL, "faults\\[1\\]: 'kil c1': there is no fault 'kil'"),
        (
            "faults = ['1s kill c2']" + SMALL,
            "fault 'kill c2' at 1s: .* there are c1",
        ),
        ("faults = ['1s kill node-4']" + SMALL, "there is no node or member 'node-4'"),
        ("faults = ['1s leave node-1']" + SMALL, "there is no member 'node-1'"),
        ("faults = ['1s slow-disk c1 by 1s for 1s']" + SMALL, "there is no node 'c1'"),
        ("faults = ['1s grow u to 3']" + SMALL, "there is no topic 'u'"),
        ("faults = ['1s grow t to 2']" + SMALL, "it has 2 partitions already"),
        ("faults = ['1s create t']" + SMALL, "it is there from the start"),
        ("faults = ['1s create u']" + SMALL, "there is no topic 'u'"),
        ("faults = ['1s subscribe c1 to u']" + SMALL, "there is no topic 'u'"),
        (
            "faults = ['1s subscribe c1']" + SMALL,
            "to what\\? subscribe MEMBER to TOPIC,... \\[for DURATION\\]",
        ),
        ("faults = ['1s subscribe c1 to t,t']" + SMALL, "is not a list of different topics"),
        ("faults = ['1s unsubscribe c2']" + SMALL, "there is no member 'c2'"),
        ("faults = ['1s move h']" + SMALL, "there is no group 'h'"),
        ("faults = ['1s cut c1 from c1 for 1s']" + SMALL, "nothing can be cut from itself"),
        ("faults = ['1s cut c1 from x for 1s']" + SMALL, "there is no node or member 'x'"),
        ("faults = ['10s kill c1']" + SMALL, "the run is over after 10s"),
        (SMALL + "[chaos]", "chaos: there is no 'every'"),
        (SMALL + '[chaos]\nevery = "1s"\nkinds = ["boom"]', "chaos.kinds: 'boom' is not one of"),
        (SMALL + '[network]\nlatency = ["5ms", "1ms"]', "network.latency: has the longer duration first"),
        (SMALL + '[network]\nlatency = ["5ms"]', "network.latency: should be two durations"),
        (SMALL + "[network]\nloss_percent = 51", "network.loss_percent: should be a number from 0 to 50"),
        (SMALL + "[zookeeper]\nretries = 3", "zookeeper.retries: no such key"),
        (SMALL + '[brokers]\n"log.dirs" = "/x"', "brokers: kgroup has no use for 'log.dirs'"),
        (
            SMALL + "[brokers]\nnum.partitions = 3",
            'brokers.num: should be .*; write "num.partitions" = ',
        ),
        (SMALL + '[brokers]\n"num.partitions" = 0', "num.partitions: 0 is not between 1"),
    ],
)
def test_what_makes_no_sense_is_refused_with_the_file_the_place_and_the_cause(text, why):
    with pytest.raises(InputError, match=f"^file.toml: .*{why}"):
        read(text)


@pytest.mark.parametrize("name", shipped_names())
def test_a_scenario_that_comes_with_kgroup_is_sound_and_says_what_it_is_about(name):
    scenario = load_shipped(name)
    assert scenario.name == name
    assert 20 < len(scenario.about) <= 70


def test_a_scenario_is_called_by_its_name_or_its_title_or_its_path(tmp_path):
    by_name = load_scenario("c1-leaves-under-sticky")
    assert load_scenario("C1 leaves under sticky") == by_name
    path = tmp_path / "mine.toml"
    path.write_text(SMALL)
    assert load_scenario(str(path)).name == "mine"


def test_a_name_that_is_none_is_refused_with_the_nearest():
    with pytest.raises(InputError, match=r"there is no scenario 'gc-pauze', .*did you mean gc-pause"):
        load_scenario("gc-pauze")


def test_files_that_cannot_be_read(tmp_path: Path):
    with pytest.raises(SourceError, match="No such file"):
        load_scenario(str(tmp_path / "none.toml"))
    with pytest.raises(SourceError, match="Is a directory"):
        load_scenario(str(tmp_path))
    path = tmp_path / "binary.toml"
    path.write_bytes(b"\xff\xfe")
    with pytest.raises(InputError, match="not UTF-8 at byte 0"):
        load_scenario(str(path))
    path.write_bytes(b"#" * (1 << 21))
    with pytest.raises(InputError, match="more than 1048576 bytes"):
        load_scenario(str(path))
