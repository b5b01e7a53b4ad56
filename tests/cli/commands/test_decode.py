import csv
import io
import json
import re
import shutil
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pyarrow.parquet
import pytest

from kgroup.log.format.batch import LogRecord, encode_batch
from tests.vectors.captures import difference

ROOT = Path(__file__).parents[3]
FIXTURES = ROOT / "fixtures"
LIVES = FIXTURES / "4.3.1" / "lives"
DAMAGED = FIXTURES / "damaged"
CASES = json.loads((DAMAGED / "cases.json").read_text())
TRANSACTIONAL = LIVES / "__consumer_offsets-48"


def rows(ended, status=0):
    assert ended.status == status, ended.err
    return [json.loads(line) for line in ended.out.splitlines()]


def truth(capture):
    return [json.loads(line) for line in (capture / "truth.jsonl").read_text().splitlines()]


def places(lines):
    return [(line["partition"], line["offset"]) for line in lines if "offset" in line]


@pytest.fixture
def decode(kgroup):
    def run(*arguments, status=0, stdin=b""):
        return rows(kgroup("decode", "-o", "jsonl", *map(str, arguments), stdin=stdin), status)

    return run


def test_json_lines_of_a_capture_are_its_truth(decode):
    capture = FIXTURES / "3.9.1" / "compacted"
    decoded, expected = decode(capture), truth(capture)
    assert len(decoded) == len(expected)
    assert [difference(e, d) for e, d in zip(expected, decoded, strict=True) if difference(e, d)] == []


def test_the_outcome_of_each_transactional_commit(decode):
    commits = [row for row in decode(TRANSACTIONAL) if "transaction" in row]
    assert [(row["offset"], row["transaction"]) for row in commits[:4]] == [
        (2, "committed"),
        (3, "committed"),
        (6, "aborted"),
        (7, "aborted"),
    ]


def test_topic_ids_have_the_names_of_the_folders_beside_the_log(decode):
    (row, *_) = decode(
        LIVES, "--type", "consumer-group-target-assignment-member", "--group", "migrate-online"
    )
    assert row["value"]["topicPartitions"][0]["topicName"] == "payments"


def test_topic_ids_have_the_names_of_a_topics_file(decode, tmp_path):
    segment = next((LIVES / "__consumer_offsets-5").glob("*.log"))
    alone = tmp_path / segment.name
    shutil.copy(segment, alone)
    kind = ("--type", "consumer-group-target-assignment-member")
    assert "topicName" not in json.dumps(decode(alone, *kind))
    named = decode(alone, *kind, "--topics-file", LIVES / "topics.json")
    assert named[0]["value"]["topicPartitions"][0]["topicName"] == "payments"


# Where to read from


def test_a_segment_a_folder_and_standard_input_give_the_same_records(decode):
    segment = next(TRANSACTIONAL.glob("*.log"))
    of_folder = decode(TRANSACTIONAL)
    of_pipe = decode("-", stdin=segment.read_bytes())
    assert decode(segment) == of_folder
    assert [row | {"partition": 48, "segment": segment.name} for row in of_pipe] == of_folder


def test_several_paths_are_read_once_each(decode):
    both = decode(TRANSACTIONAL, LIVES / "__consumer_offsets-5", TRANSACTIONAL)
    assert both == decode(LIVES / "__consumer_offsets-5") + decode(TRANSACTIONAL)


# Filters


def test_a_group_or_all_that_match_a_pattern(decode):
    expected = [line for line in truth(LIVES) if (line.get("key") or {}).get("group") == "billing-txn"]
    assert places(decode(LIVES, "--group", "billing-txn")) == places(expected)
    groups = {row["key"].get("group") or row["key"]["groupId"] for row in decode(LIVES, "--group", "share-*")}
    assert groups == {"share-queue", "share-queue-left"}


def test_a_record_whose_value_nobody_can_read_is_of_the_group_and_type_of_its_key(decode):
    damaged = DAMAGED / "short-value"
    for condition in (("--group", "damaged-group"), ("--topic", "orders:3"), ("--type", "offset-commit")):
        decoded = decode(damaged, *condition, "--from-offset", 153)
        assert [row["kind"] for row in decoded] == ["undecoded", "record"]
    assert [row["offset"] for row in decode(damaged, "--type", "undecoded")] == [153]
    assert decode(damaged, "--group", "others", status=1) == []


def test_a_topic_and_partitions_of_it(decode):
    commits = decode(LIVES, "--group", "billing-txn", "--topic", "orders:1,3")
    assert {(row["key"]["topic"], row["key"]["partition"]) for row in commits} == {
        ("orders", 1),
        ("orders", 3),
    }
    assert {row["key"]["topic"] for row in decode(LIVES, "--topic", "promo*")} == {"promo-2024"}


def test_a_partition_of_the_offsets_topic(decode):
    assert {row["partition"] for row in decode(LIVES, "--partition", 48, "--partition", 5)} == {5, 48}


@pytest.mark.parametrize(
    ("given", "kinds"),
    [
        ("group-metadata", {"GROUP_METADATA"}),
        ("GROUP_METADATA", {"GROUP_METADATA"}),
        ("2", {"GROUP_METADATA"}),
        ("control", {"control"}),
        ("share-group-m*", {"SHARE_GROUP_METADATA", "SHARE_GROUP_MEMBER_METADATA"}),
    ],
)
def test_a_type_by_name_number_or_pattern(decode, given, kinds):
    assert {row.get("type", row["kind"]) for row in decode(LIVES, "--type", given)} == kinds


def test_times_are_those_of_the_records_until_excluded(decode):
    all_times = sorted({row["timestamp"] for row in decode(TRANSACTIONAL)})
    first, last = all_times[2], all_times[5]
    decoded = decode(TRANSACTIONAL, "--since", first, "--until", last)
    assert {row["timestamp"] for row in decoded} == set(all_times[2:5])


def test_the_oldest_format_has_the_times_of_its_commits(decode):
    capture = FIXTURES / "1.1.1" / "format-0.9"
    commits = decode(capture, "--type", "offset-commit")
    middle = sorted(row["value"]["commitTimestamp"] for row in commits)[len(commits) // 2]
    late = decode(capture, "--since", middle)
    assert late and {row["kind"] for row in late} == {"record"}
    assert all(row["value"]["commitTimestamp"] >= middle for row in late)


def test_offsets_from_and_to_are_included_and_other_segments_not_even_opened(decode):
    capture = FIXTURES / "3.9.1" / "compacted"
    everything = places(decode(capture))
    first, last = 150, 400
    decoded = places(decode(capture, "--from-offset", first, "--to-offset", last))
    assert decoded == [position for position in everything if first <= position[1] <= last]
    assert decoded


def test_tombstones_only(decode):
    capture = FIXTURES / "3.9.1" / "expired"
    expected = [line for line in truth(capture) if line["kind"] == "tombstone"]
    assert places(decode(capture, "--tombstones")) == places(expected)


# The newest of each key


def newest_in_truth(capture):
    """The plainest replay: last record of each key, tombstones remove, transactions count by their marker."""
    held, pending = {}, {}
    for line in truth(capture):
        producer = line["partition"], line["batch"].get("producerId")
        if line["kind"] == "control":
            for key, kept in pending.pop(producer, {}).items():
                if line["control"] == "COMMIT":
                    held[key] = kept
        elif line["kind"] in ("record", "tombstone"):
            key = line["keyVersion"], json.dumps(line["key"])
            target = pending.setdefault(producer, {}) if line["batch"].get("transactional") else held
            target[key] = line
    return sorted(places(line for line in held.values() if line["kind"] == "record"))


@pytest.mark.parametrize(
    "capture", ["4.3.1/lives", "3.9.1/compacted", "3.9.1/new-coordinator", "2.4.1/lives"]
)
def test_latest_is_what_a_coordinator_would_hold(decode, capture):
    assert sorted(places(decode(FIXTURES / capture, "--latest"))) == newest_in_truth(FIXTURES / capture)


def test_latest_until_is_what_a_coordinator_held_then(decode):
    held = decode(
        TRANSACTIONAL, "--latest", "--group", "billing-txn", "--to-offset", 8, "--type", "offset-commit"
    )
    assert [(row["key"]["partition"], row["value"]["offset"]) for row in held] == [(0, 5), (1, 3)]


def test_latest_of_standard_input(decode):
    segment = next(TRANSACTIONAL.glob("*.log"))
    piped = decode("-", "--latest", stdin=segment.read_bytes())
    assert [row["offset"] for row in piped] == [row["offset"] for row in decode(segment, "--latest")]


# Damage


@pytest.mark.parametrize("case", sorted(set(CASES) - {"healthy", "healthy-gzip"}))
def test_every_damaged_file_is_reported_by_place_and_reason_and_the_rest_comes_out(kgroup, case):
    known = CASES[case]
    ended = kgroup("decode", "-o", "jsonl", "--strict", str(DAMAGED / case))
    assert ended.status == 3
    reports = [
        line for line in ended.err.splitlines() if f"/{known['file']}: byte {known['damage_at']}: " in line
    ]
    assert len(reports) == 1
    assert re.search(r": byte \d+: .*[a-z]{3}", reports[0])
    assert ended.err.splitlines()[-1].endswith("with something odd")
    decoded = rows(ended, status=3)
    healthy = {row["batch"]["position"] for row in decoded if "batch" in row}
    assert len(healthy) == known["healthy_batches"]
    in_rows = {row["position"] for row in decoded if row["kind"] == "error"} | healthy
    assert known["damage_at"] in in_rows


@pytest.mark.parametrize("case", ["healthy", "healthy-gzip"])
def test_a_healthy_file_has_nothing_to_report(kgroup, case):
    ended = kgroup("decode", "-o", "jsonl", "--strict", str(DAMAGED / case))
    assert (ended.status, ended.err) == (0, "")
    assert len(rows(ended)) == CASES[case]["reference"]["records"]


@pytest.mark.parametrize(
    ("case", "reason"),
    [
        ("trailing-bytes-in-value", "offset 153: 5 bytes more than OffsetCommitValue version 3 has"),
        ("gzip-bomb", "offset 153: 209715180 bytes more than OffsetCommitValue version 0 has"),
        (
            "bad-subscription",
            "offset 153: member m-1: Subscription.topics at byte 2: an array of 1000000 in the 8 bytes that"
            " are left, Assignment.assigned_partitions at byte 2: needs 4 bytes and 1 are left",
        ),
        ("short-value", "offset 153: cannot be decoded: OffsetCommitValue.offset at byte 2: needs 8 bytes"),
    ],
)
def test_a_record_that_is_odd_is_shown_and_the_reason_is_told(kgroup, case, reason):
    ended = kgroup("decode", "-o", "jsonl", str(DAMAGED / case), "--to-offset", "153")
    assert reason in ended.err
    assert rows(ended)[-1]["offset"] == 153


# Members whose metadata nobody can read: `undecodable-member-metadata` in story.json.
ODD_MEMBERS = {"0.10.1.1/lives": 2, "1.1.1/lives": 1, "2.4.1/lives": 1, "4.3.1/odd-members": 1}
# What ran beside them, and a log of each further kind.
NOTHING_ODD = ["1.1.1/format-0.9", "2.4.1/ibp-2.1", "3.9.1/expired", "3.9.1/codec-zstd", "4.3.1/lives"]


@pytest.mark.parametrize("capture", [*ODD_MEMBERS, *NOTHING_ODD])
def test_of_what_real_brokers_wrote_only_unreadable_members_are_findings(kgroup, capture):
    ended = kgroup("decode", "--strict", "-o", "csv", str(FIXTURES / capture))
    odd = ODD_MEMBERS.get(capture, 0)
    assert ended.status == (3 if odd else 0)
    *findings, last = ended.err.splitlines() or [""]
    assert len(findings) == odd
    assert all(": member " in line for line in findings)
    noun = "record" if odd == 1 else "records"
    assert last == (
        f"kgroup: 0 damaged places, 0 records that cannot be decoded, {odd} {noun} with something odd"
        if odd
        else ""
    )


def test_of_many_odd_records_the_first_are_named_and_the_others_counted(kgroup):
    key = bytes.fromhex("0001 0001 67 0001 74 00000003")
    value = bytes.fromhex("0000 0000000000000009 0000 000000000000000c") + b"more"
    odd = [LogRecord(offset=offset, timestamp_ms=0, key=key, value=value) for offset in range(25)]
    ended = kgroup("decode", "-o", "jsonl", "--strict", "-", stdin=encode_batch(odd))
    assert len(rows(ended, status=3)) == 25
    assert ended.err.splitlines()[9:] == [
        "kgroup: standard input: byte 0: offset 9: 4 bytes more than OffsetCommitValue version 0 has",
        "kgroup: 15 more records with something odd, not named here",
        "kgroup: 0 damaged places, 0 records that cannot be decoded, 25 records with something odd",
    ]


def test_damage_without_strict_is_told_and_ends_well(kgroup):
    ended = kgroup("decode", str(DAMAGED / "bad-magic"), "--to-offset", "0")
    assert ended.status == 0
    assert ended.err.endswith("byte 9587: 123 bytes left out: batch magic: 5, while 0, 1 and 2 are known\n")


def test_what_is_undecodable_is_told_whatever_is_asked_for(kgroup):
    ended = kgroup("decode", str(DAMAGED / "unknown-key-version"), "--group", "nobody")
    assert ended.status == 1
    undecodable, missing = ended.err.splitlines()
    assert undecodable.endswith("byte 15423: offset 153: cannot be decoded: unknown record type 99")
    assert missing == "kgroup: no group here matches nobody"


# Names that are not there

BILLING = LIVES / "__consumer_offsets-48"


@pytest.mark.parametrize("output", ["table", "json", "csv"])
def test_a_misspelt_group_or_topic_is_said_to_be_missing_whatever_the_format(kgroup, output):
    ended = kgroup("decode", str(LIVES), "--group", "order-app", "--topic", "ordrs", "-q", "-o", output)
    assert ended.status == 1
    assert ended.err == (
        "kgroup: no group here matches order-app; did you mean orders-app?;"
        " no topic here matches ordrs; did you mean orders?\n"
    )


def test_of_several_groups_the_misspelt_one_is_named_and_the_others_are_shown(kgroup):
    ended = kgroup(
        "decode", str(LIVES), "--group", "orders-app", "--group", "billing-tx", "-q", "-o", "jsonl"
    )
    assert {row["key"]["group"] for row in rows(ended)} == {"orders-app"}
    assert ended.err == "kgroup: no group here matches billing-tx; did you mean billing-txn?\n"


@pytest.mark.parametrize(
    "condition", [("--since", "2027-01-01"), ("--topic", "payments:77"), ("--type", "control")]
)
def test_a_group_that_is_there_is_not_missing_because_nothing_of_it_was_asked_for(kgroup, condition):
    ended = kgroup("decode", str(LIVES), "--group", "orders-app", *condition)
    assert (ended.status, ended.err) == (0, "kgroup: no records match\n")


def test_standard_input_is_asked_for_its_names_too(kgroup):
    log = next(BILLING.glob("*.log")).read_bytes()
    ended = kgroup("decode", "-", "--group", "billing-tx", stdin=log)
    assert (ended.status, ended.err) == (
        1,
        "kgroup: no group here matches billing-tx; did you mean billing-txn?\n",
    )


# Other formats


def test_a_table_has_a_line_for_each_record(kgroup):
    ended = kgroup("decode", str(TRANSACTIONAL), "--to-offset", "4")
    assert ended.out.splitlines() == [
        " P  OFFSET  TIME                      GROUP             WHAT",
        "48       0  2026-11-20T12:46:06.085Z  registry-primary  group generation 0, 0 members",
        "48       1  2026-11-20T12:46:06.086Z  registry-primary  group generation 1, v0, 1 member",
        "48       2  2026-11-20T12:46:10.043Z  billing-txn       orders-0 @ 5, epoch 0, "
        '"in a transaction" [committed]',
        "48       3  2026-11-20T12:46:10.043Z  billing-txn       orders-1 @ 3 [committed]",
        "48       4  2026-11-20T12:46:10.086Z  -                 transaction committed: producer 0, epoch 1",
    ]


def test_a_table_fits_into_80_columns(kgroup, monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    ended = kgroup("decode", str(LIVES / "__consumer_offsets-6"), "--group", "trades-848")
    assert max(map(len, ended.out.splitlines())) <= 80


def test_csv_names_the_group_and_holds_nested_fields_as_json(kgroup):
    ended = kgroup("decode", "-o", "csv", str(TRANSACTIONAL), "--to-offset", "3")
    (*_, last) = csv.DictReader(io.StringIO(ended.out))
    assert (last["group"], last["type"], last["transaction"]) == ("billing-txn", "OFFSET_COMMIT", "committed")
    assert json.loads(last["value"])["offset"] == 3


def test_parquet_has_a_row_for_each_record(kgroup, tmp_path):
    file = tmp_path / "out.parquet"
    assert kgroup("decode", "-o", "parquet", "--output", str(file), str(TRANSACTIONAL)).status == 0
    table = pyarrow.parquet.read_table(file)
    assert table.num_rows == len(places(line for line in truth(LIVES) if line["partition"] == 48))
    assert set(table["transaction"].to_pylist()) == {None, "committed", "aborted"}


@pytest.mark.parametrize("capture", ["3.9.1/lives", "4.3.1/lives", "1.1.1/lives"])
def test_the_structs_of_parquet_are_what_kafkas_own_tool_decodes(kgroup, tmp_path, capture):
    file = tmp_path / "out.parquet"
    assert kgroup("decode", "-o", "parquet", "--output", str(file), str(FIXTURES / capture), "-q").status == 0
    read = {(row["partition"], row["offset"]): row for row in pyarrow.parquet.read_table(file).to_pylist()}
    compared = 0
    for line in truth(FIXTURES / capture):
        row = read.get((line["partition"], line.get("offset")))
        for part in ("key", "value") if line["kind"] in ("record", "tombstone") else ():
            shown = as_json(row[part])
            compared += 1
            assert contained(line[part], shown), (line[part], shown)
        if line["kind"] == "record":
            assert (row["keySize"], row["valueSize"]) == (line["keySize"], line["valueSize"])
    assert compared > 500


def as_json(value):
    """Of a struct what is not null; times as epoch ms."""
    if isinstance(value, dict):
        return {name: as_json(each) for name, each in value.items() if each is not None}
    if isinstance(value, list):
        return [as_json(each) for each in value]
    return round(value.timestamp() * 1000) if isinstance(value, datetime) else value


def contained(wanted, shown):
    """Whether all that Kafka says is there; what it calls null or -1 may be missing."""
    if isinstance(wanted, dict) and "error" in wanted:
        return "error" in shown
    if isinstance(wanted, dict):
        return all(
            contained(each, shown.get(name)) for name, each in wanted.items() if each not in (None, -1)
        )
    if isinstance(wanted, list):
        pairs = zip(wanted, shown, strict=True)
        return all(contained(one, named(other) if isinstance(one, str) else other) for one, other in pairs)
    return wanted == shown


def named(shown):
    """Topics of regular expressions are structs."""
    return shown["topicName"] if isinstance(shown, dict) else shown


def test_a_reader_that_has_enough_ends_it_quietly():
    command = f"{sys.executable} -m kgroup decode -o jsonl {LIVES} | head -1"
    ended = subprocess.run(
        ["bash", "-c", f"set -o pipefail; {command}"], capture_output=True, text=True, check=False
    )
    assert (ended.returncode, ended.stderr) == (0, "")
    assert json.loads(ended.stdout)["offset"] == 0


# What cannot be done


@pytest.mark.parametrize(
    ("arguments", "status", "why"),
    [
        ([], 2, "no PATH given"),
        (["/no/such/path"], 1, "/no/such/path: No such file or directory"),
        ([str(FIXTURES / "vectors")], 1, "no segments of __consumer_offsets here or below"),
        ([str(LIVES / "clicks.web-0")], 1, "of topic clicks.web"),
        ([str(LIVES), "--type", "ofset-comit"], 2, "no such record type; is it offset-commit"),
        ([str(LIVES), "--type", "9"], 2, "--type 9: no such record type"),
        (
            [str(LIVES), "--type", "share-snapshot"],
            2,
            "--type share-snapshot: a type of __share_group_state, and these are records of __consumer",
        ),
        ([str(LIVES), "--topic", "orders:x"], 2, "--topic orders:x: give TOPIC or TOPIC:PARTITION"),
        ([str(LIVES), "--since", "yesterday"], 2, "--since yesterday: not a time; give an ISO time"),
        ([str(LIVES), "--until", "1700000000"], 2, "--until 1700000000: not a time"),
        ([str(LIVES), "--partition", "1"], 1, "no segments of partition 1 here, only of 0, 2, 3"),
        ([str(LIVES), "--topics-file", "/no/such/file"], 1, "/no/such/file: No such file or directory"),
    ],
)
def test_what_makes_no_sense_is_one_line_that_says_why(kgroup, arguments, status, why):
    ended = kgroup("decode", *arguments)
    assert ended.status == status
    assert why in ended.err
    assert len(ended.err.splitlines()) == 1
    assert ended.out == ""


def test_a_topics_file_that_is_none_is_refused(kgroup, tmp_path):
    bad = tmp_path / "topics.json"
    bad.write_text('{"topics": []}')
    ended = kgroup("decode", str(LIVES), "--topics-file", str(bad))
    assert ended.status == 2
    assert str(bad) in ended.err
