"""`kgroup decode` of `__share_group_state`, held against what Kafka's own dump tool says of its files."""

import csv
import io
import json
import shutil
from pathlib import Path
from uuid import UUID

import pyarrow.parquet
import pytest

from kgroup.log.format.batch import LogRecord, encode_batch

ROOT = Path(__file__).parents[3]
LIVES = ROOT / "fixtures" / "4.3.1" / "lives"
FOLDERS = [LIVES / f"__share_group_state-{number}" for number in range(3)]
DUMPED = [
    json.loads(line)
    for line in (ROOT / "fixtures" / "vectors" / "share_state.jsonl").read_text().splitlines()
]
ID = UUID(int=7)


def said(line):
    """A line in the form of the dump tool."""
    value = {"version": str(line["valueVersion"]), "data": line["value"]}
    data = {name: field for name, field in line["key"].items() if name != "topicName"}
    return {
        "partition": line["partition"],
        "offset": line["offset"],
        "timestamp": line["timestamp"],
        "keySize": line["keySize"],
        "valueSize": line["valueSize"],
        "key": {"type": str(line["keyVersion"]), "data": data},
        "value": value,
    }


@pytest.fixture
def decode(kgroup):
    def run(*arguments, status=0):
        ended = kgroup("decode", *map(str, arguments))
        assert ended.status == status, ended.err
        return ended

    return run


@pytest.fixture
def lines(decode):
    def run(*arguments, status=0):
        return [
            json.loads(line) for line in decode("-o", "jsonl", *arguments, status=status).out.splitlines()
        ]

    return run


def test_every_record_is_what_kafkas_own_tool_says(lines):
    assert [said(line) for line in lines(*FOLDERS)] == DUMPED
    assert [said(line) for line in lines(*(folder / f"{0:020}.log" for folder in FOLDERS))] == DUMPED


def test_topics_have_their_names(lines):
    assert {line["key"]["topicName"] for line in lines(*FOLDERS)} == {"clicks.web"}


def test_a_table_has_a_few_words_for_each(decode):
    shown = decode(FOLDERS[0]).out.splitlines()
    assert [line.split("  ")[-1] for line in shown[1:4]] == [
        "clicks.web-1 snapshot 0, state epoch 2: no offset yet",
        "clicks.web-1 update of snapshot 0: start offset 0, 35 done with, 0-34 acknowledged",
        "clicks.web-1 update of snapshot 0: start offset 35, 1 done with, 35 acknowledged",
    ]


def test_csv_has_the_columns_of_the_offsets_topics(decode, lines):
    [first, *_] = csv.DictReader(io.StringIO(decode("-o", "csv", *FOLDERS).out))
    [same, *_] = lines(*FOLDERS)
    assert (first["type"], first["group"]) == ("SHARE_SNAPSHOT", "share-queue-left")
    assert json.loads(first["value"]) == same["value"]
    offsets = decode("-o", "csv", LIVES, "--group", "share-queue").out.splitlines()[0]
    assert ",".join(first) == offsets


def test_parquet_has_the_same_rows(decode, lines, tmp_path):
    decode("-o", "parquet", "--output", tmp_path / "x.parquet", *FOLDERS)
    rows = pyarrow.parquet.read_table(tmp_path / "x.parquet").to_pylist()
    assert [json.loads(row["value"]) for row in rows] == [line["value"] for line in lines(*FOLDERS)]


@pytest.mark.parametrize(
    ("conditions", "wanted"),
    [
        (["--group", "share-queue"], lambda each: each["key"]["data"]["groupId"] == "share-queue"),
        (["--group", "*-left"], lambda each: each["key"]["data"]["groupId"] == "share-queue-left"),
        (["--topic", "clicks.web:0"], lambda each: each["key"]["data"]["partition"] == 0),
        (["--type", "share-snapshot"], lambda each: each["key"]["type"] == "0"),
        (["--type", "1"], lambda each: each["key"]["type"] == "1"),
        (["--partition", "2"], lambda each: each["partition"] == 2),
        (["--from-offset", "60", "--to-offset", "61"], lambda each: each["offset"] in (60, 61)),
        (["--since", "1795178849000"], lambda each: each["timestamp"] >= 1795178849000),
        (["--until", "1795178792000"], lambda each: each["timestamp"] < 1795178792000),
    ],
    ids=lambda each: "-".join(each) if isinstance(each, list) else "",
)
def test_conditions(lines, conditions, wanted):
    expected = [each for each in DUMPED if wanted(each)]
    assert expected
    assert [said(line) for line in lines(*FOLDERS, *conditions)] == expected


def test_who_is_not_there_is_named(decode):
    ended = decode(FOLDERS[0], "--group", "share-quue", status=1)
    assert ended.err == "kgroup: no group here matches share-quue; did you mean share-queue-left?\n"
    # Filtered or not: the group is there, its records are not in this partition's range.
    assert "no records match" in decode(FOLDERS[0], "--group", "share-queue-left", "--from-offset", "99").err


# ---- records that no capture has -------------------------------------------------------------------


def key(kind=0, partition=0, group=b"g", topic=ID):
    head = kind.to_bytes(2, signed=True) + len(group).to_bytes(2) + group
    return head + topic.bytes + partition.to_bytes(4)


def snapshot(start=5, epoch=0, batches=(), tagged=b"\0"):
    packed = b"".join(
        first.to_bytes(8) + last.to_bytes(8) + bytes([state]) + count.to_bytes(2) + b"\0"
        for first, last, state, count in batches
    )
    numbers = epoch.to_bytes(4) + (0).to_bytes(4) + (0).to_bytes(4) + start.to_bytes(8)
    return b"\0\0" + numbers + bytes(16) + bytes([len(batches) + 1]) + packed + tagged


def update(start=6):
    return b"\0\0" + bytes(8) + start.to_bytes(8) + b"\1" + b"\0"


@pytest.fixture
def folder(tmp_path):
    def make(*records, name="__share_group_state-0"):
        made = tmp_path / name
        made.mkdir(exist_ok=True)
        batches = [
            encode_batch(
                [
                    LogRecord(
                        offset=offset,
                        timestamp_ms=1_000 + offset,
                        key=record[0],
                        value=record[1],
                        headers=(),
                    )
                ],
                base_offset=offset,
            )
            for offset, record in enumerate(records)
        ]
        (made / f"{0:020}.log").write_bytes(b"".join(batches))
        return made

    return make


def test_latest_is_the_newest_snapshot_and_the_updates_since(lines, folder):
    made = folder(
        (key(), snapshot()),
        (key(1), update()),
        (key(), snapshot(7, 1)),
        (key(1), update(8)),
        (key(partition=1), snapshot()),
        (key(1, partition=1), update()),
        (key(partition=1), None),
    )
    assert [line["offset"] for line in lines(made, "--latest")] == [2, 3]
    assert [line["offset"] for line in lines(made, "--latest", "--to-offset", "5")] == [2, 3, 4, 5]
    assert [line["offset"] for line in lines(made, "--latest", "--to-offset", "1")] == [0, 1]
    assert [line["offset"] for line in lines(made, "--tombstones")] == [6]
    assert [line["kind"] for line in lines(made, "--from-offset", "5")] == ["record", "tombstone"]


def test_a_topic_without_a_name_has_its_id(decode, folder, tmp_path):
    made = folder((key(), None), (key(topic=UUID(int=0)), snapshot(batches=[(5, 6, 0, 3), (7, 7, 9, 1)])))
    shown = decode(made).out.splitlines()
    assert shown[1].endswith("AAAAAAAAAAAAAAAAAAAABw-0 deleted")
    assert shown[2].endswith(
        "-0 snapshot 0, state epoch 0: start offset 5, 5-6 available (delivered 3 times), 7 state 9"
    )
    names = tmp_path / "topics.json"
    ends = {"0": {"logStart": 0, "logEnd": 9, "leaderEpoch": 0}}
    jobs = {"topicId": "AAAAAAAAAAAAAAAAAAAABw", "partitions": ends}
    names.write_text(json.dumps({"topics": {"jobs": jobs}}))
    assert "jobs-0 deleted" in decode(made, "--topics-file", names).out


def test_what_cannot_be_decoded_comes_with_its_bytes(lines, decode, folder):
    made = folder((key(2), None), (key(), b"\0\1"), (b"", b""), (key() + b"!", snapshot()))
    shown = lines(made)
    assert [line["kind"] for line in shown] == ["undecoded", "undecoded", "undecoded", "record"]
    assert shown[0]["error"].endswith("a record of type 2")
    assert shown[1]["valueHex"] == "0001"
    assert shown[3]["note"] == "1 bytes more than ShareStateKey has"
    ended = decode(made, "--strict", status=3)
    assert "3 records that cannot be decoded, 1 record with something odd" in ended.err
    assert len(lines(made, "--type", "undecoded")) == 3


def test_damage_is_named_and_the_rest_is_read(lines, decode, tmp_path):
    cut = tmp_path / FOLDERS[1].name
    shutil.copytree(FOLDERS[1], cut)
    log = cut / f"{0:020}.log"
    log.write_bytes(log.read_bytes()[:-5])
    shown = lines(cut)
    assert shown[-1]["kind"] == "error"
    assert len(shown) == len([each for each in DUMPED if each["partition"] == 1])
    assert f"{log}: byte" in decode(cut, "--strict", status=3).err


def test_other_topics_beside_it_are_refused(decode):
    ended = decode(FOLDERS[0], LIVES / "__consumer_offsets-48", status=1)
    assert "a partition of topic __consumer_offsets, not of __share_group_state" in ended.err


def test_a_log_directory_is_still_read_for_its_offsets_topic(decode):
    assert "GROUP" in decode(LIVES, "--group", "share-queue").out
