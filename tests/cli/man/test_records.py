import json
from pathlib import Path

import pytest

from kgroup.cli.man.records import records_page
from kgroup.protocol.records.entries import RecordType

SCHEMAS = Path(__file__).parents[3] / "kgroup" / "protocol" / "schemas"
SECTIONS = {
    int(title): body
    for title, _, body in (
        part.partition(":") for part in records_page().replace("\\-", "-").split("\n.SS ")[1:]
    )
}


def test_every_record_type_has_its_section():
    assert set(SECTIONS) == {int(record_type) for record_type in RecordType}


@pytest.mark.parametrize("record_type", sorted(set(RecordType) - {RecordType.LEGACY_OFFSET_COMMIT}))
def test_a_section_has_every_field_of_its_key_and_value(record_type):
    stem = "".join(word.capitalize() for word in record_type.name.split("_"))
    for message in (f"{stem}Key", f"{stem}Value"):
        definition = json.loads((SCHEMAS / f"{message}.json").read_text())
        assert f"\n{message}" in SECTIONS[record_type]
        for name in names(definition["fields"]):
            assert f" {name}  " in SECTIONS[record_type]


def names(fields):
    for field in fields:
        yield field["name"]
        yield from names(field.get("fields", []))


def test_the_oldest_commits_have_only_what_version_0_has():
    assert "  CommitTimestamp  int64" in SECTIONS[0]
    assert not any(
        later in SECTIONS[0] for later in ("LeaderEpoch", "ExpireTimestamp", "TopicId", "flexible")
    )


def test_a_field_says_when_it_is_there_and_what_it_is_without():
    assert "  LeaderEpoch  int32, versions 3+, default -1\n" in SECTIONS[1]
    assert "  ExpireTimestamp  int64, version 1, default -1\n" in SECTIONS[1]
    assert "OffsetCommitValue  versions 0-4, flexible 4+\n" in SECTIONS[1]
