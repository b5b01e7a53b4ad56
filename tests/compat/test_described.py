"""The parser of `described.txt`, in each layout it meets."""

import pytest

from tests.compat.captures import FIXTURES, NAMES, described
from tests.compat.described import TOOL, DescribedError, MemberLine, OffsetLine, StateLine, read_described


def first(lines, group):
    return next(line for line in lines if line.group == group)


@pytest.mark.parametrize("name", NAMES)
def test_every_file_is_read_to_the_end(name):
    answers = (FIXTURES / name / "described.txt").read_text()
    read = described(name)
    assert len(read.offsets) == sum(
        line.rstrip().count(" ") > 5 and any(cell.isdigit() for cell in line.split()[1:3])
        for answer in answers.split("\n$ ")
        if TOOL in answer.partition("\n")[0]
        and "--describe" in answer
        and "--members" not in answer
        and "--state" not in answer
        for line in answer.splitlines()[1:]
        if not line.startswith(("\tat", "Error", "Note", "java.", "org.", "Consumer", "Caused", "$"))
    )


def test_0_10_1_names_an_owner_only():
    assert first(described("0.10.1.1/codec-gzip").offsets, "brief") == OffsetLine(
        group="brief",
        topic="payments",
        partition=2,
        current_offset=25,
        log_end_offset=25,
        lag=0,
        owner="brief-3_/127.0.0.1",
    )


def test_0_10_1_refuses_groups_without_members():
    read = described("0.10.1.1/lives")
    assert read.rebalancing == {"gone-group", "left-behind", "promo-mailer"}
    assert {group for _, group in read.refused} == {
        "cron-exporter",
        "hand-rolled",
        "hand-rolled-cut",
        "old-client-retention",
    }


def test_1_1_leaves_the_group_to_the_command_line():
    read = described("1.1.1/format-0.9")
    assert first(read.offsets, "brief-retention").lag == -26
    assert first(read.offsets, "brief").client_id == "brief-1"
    assert first(read.states, "brief-retention") == StateLine(
        group="brief-retention", assignment_strategy=None, state="Empty", members=0
    )


@pytest.mark.parametrize("name", ["2.4.1/lives", "4.3.1/odd-members"])
def test_one_group_that_the_tool_cannot_read_ends_the_whole_answer(name):
    read = described(name)
    assert set(read.refused) == {("offsets", "*"), ("members", "*"), ("state", "*")}
    assert not read.offsets
    assert read.listed


def test_3_9_lost_the_topics_of_assignments():
    assert first(described("3.9.1/new-coordinator").members, "static-848") == MemberLine(
        group="static-848",
        consumer_id="ezwIl-yoS76OU-1Hnv93Vw",
        group_instance_id="slot-a",
        host="/127.0.0.1",
        client_id="ks-a2",
        partitions=2,
        assignment="(0,1)",
    )


def test_4_3_shows_epochs_and_target_assignments():
    read = described("4.3.1/lives")
    assert first(read.members, "regex-848") == MemberLine(
        group="regex-848",
        consumer_id="NsQt0x3ySwCqP12X2xhNAA",
        group_instance_id=None,
        host="/127.0.0.1",
        client_id="kre-2",
        partitions=5,
        assignment="audit:0;orders:0,1,2,3",
        current_epoch=5,
        target_epoch=5,
    )
    static, dynamic = (line for line in read.members if line.group == "ledger-static")
    assert {static.group_instance_id, dynamic.group_instance_id} == {None, "rack2-b"}
    assert first(read.states, "aiokafka-app").assignment_strategy is None
    assert read.types["flow-tally"] == ("Streams", "streams")
    assert read.types["cron-exporter"] == ("Classic", "")


def test_a_never_committed_partition_has_no_offset_and_no_lag():
    line = first(described("2.4.1/ibp-2.1").offsets, "brief-txn")
    assert (line.current_offset, line.log_end_offset, line.lag) == (None, 76, None)


def test_a_line_in_no_known_layout_is_an_error(tmp_path):
    path = tmp_path / "described.txt"
    path.write_text("\n$ ConsumerGroupCommand --describe --all-groups\nGROUP TOPIC\na b c d\n")
    with pytest.raises(DescribedError):
        read_described(path)
