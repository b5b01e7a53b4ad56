import json
from pathlib import Path
from uuid import UUID

import pytest

from kgroup.errors import InputError, SourceError
from kgroup.log.topics.log_ends_file import read_log_ends_file
from kgroup.protocol.log_listing import LogEndSource, PartitionLog

CAPTURE = Path("fixtures/4.3.1/lives")
ORDERS_ID = UUID(bytes=bytes(range(16)))
ORDERS_ID_TEXT = "AAECAwQFBgcICQoLDA0ODw"


@pytest.fixture
def read(tmp_path):
    """Read a log ends file with this text."""

    def run(text):
        path = tmp_path / "ends"
        path.write_text(text)
        return read_log_ends_file(path)

    return run


def orders_0(**known):
    return PartitionLog(topic="orders", partition=0, source=LogEndSource.FILE, **known)


def test_topics_json_of_a_capture_gives_every_partition():
    listing = read_log_ends_file(CAPTURE / "topics.json")
    topics = json.loads((CAPTURE / "topics.json").read_text())["topics"]
    assert listing.complete
    assert {
        (log.topic, log.partition): (log.log_start_offset, log.log_end_offset) for log in listing.logs
    } == {
        (topic, int(partition)): (ends["logStart"], ends["logEnd"])
        for topic, described in topics.items()
        for partition, ends in described["partitions"].items()
    }


def test_json_may_leave_out_what_is_not_known(read):
    listing = read('{"topics": {"orders": {"partitions": {"0": {"logEnd": 5}}}}}')
    assert listing.logs == (orders_0(log_end_offset=5),)


def test_kafkas_minus_one_is_unknown(read):
    listing = read('{"topics": {"orders": {"partitions": {"0": {"logStart": -1, "logEnd": -1}}}}}')
    assert listing.logs == (orders_0(),)


def test_csv_with_all_columns(read):
    listing = read(
        f"topic,partition,log_end_offset,log_start_offset,topic_id\norders,0,278,3,{ORDERS_ID_TEXT}\n"
    )
    assert listing.logs == (orders_0(log_end_offset=278, log_start_offset=3, topic_id=ORDERS_ID),)
    assert not listing.complete


def test_csv_with_the_needed_columns_in_another_order_and_empty_lines(read):
    assert read("log_end_offset, topic, partition\n\n278, orders, 0\n\n").logs == (
        orders_0(log_end_offset=278),
    )


def test_csv_as_spreadsheets_write_it(read):
    assert read('\ufefftopic,partition,log_end_offset\r\n"orders",0,278\r\n').logs == (
        orders_0(log_end_offset=278),
    )


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "the first line should name the columns"),
        ("orders,0,278\n", "the first line should name the columns: topic,partition,log_end_offset"),
        ("topic,partition,log_end_offset,lag\n", "the first line should name the columns"),
        ("topic,partition,log_end_offset\norders,0\n", "line 2 has 2 fields, the header 3"),
        (
            "topic,partition,log_end_offset\norders,zero,5\n",
            "line 2: partition: 'zero' is not a whole number",
        ),
        ("topic,partition,log_end_offset\norders,0,1_000\n", "line 2: log_end_offset: '1_000'"),
        (
            "topic,partition,log_end_offset\norders,0,9223372036854775808\n",
            "is not a whole number from -1 to 2^63-1",
        ),
        (
            "topic,partition,log_end_offset,topic_id\norders,0,5,abc\n",
            "line 2: topic_id: 'abc' is not a topic id",
        ),
        ("{", "no JSON"),
        ("[]", "it should be an object"),
        ("{}", "topics should be an object"),
        ('{"topics": {"orders": 5}}', "topics.orders should be an object"),
        ('{"topics": {"orders": {}}}', "topics.orders.partitions should be an object"),
        (
            '{"topics": {"orders": {"partitions": {"0": {"logEnd": 1.5}}}}}',
            "topics.orders.partitions.0.logEnd: 1.5 is not a whole number",
        ),
        (
            '{"topics": {"orders": {"topicId": "x", "partitions": {}}}}',
            "topics.orders.topicId: 'x' is not a topic id",
        ),
    ],
)
def test_what_makes_no_sense_is_named(read, text, said):
    with pytest.raises(InputError) as error:
        read(text)
    assert said in str(error.value)


def test_a_binary_file_is_named(tmp_path):
    path = tmp_path / "ends"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(InputError, match="byte 0 is not UTF-8 text"):
        read_log_ends_file(path)


def test_a_missing_file_is_named(tmp_path):
    with pytest.raises(SourceError, match="ends: No such file"):
        read_log_ends_file(tmp_path / "ends")
