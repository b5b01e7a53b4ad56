"""The scan on logs of all shapes: cut chunks, large batches, chosen columns, mutated bytes."""

from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory

import google_crc32c
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from kgroup.errors import SourceError
from kgroup.log.format.batch import Damage, encode_batch
from kgroup.log.format.compression import Codec
from kgroup.log.format.record import LogRecord
from kgroup.scan.reading.arrow import Dictionaries, commits_of
from kgroup.scan.reading.reader import RowReader
from kgroup.scan.reductions.scan import COMMIT_SCHEMA, Slice, scan, split
from tests.log.offsets_log import NAME, batch, commit, group_metadata, marker, write
from tests.scan.test_parity import DAMAGED, columnar, plain, segments, whole

HEALTHY = [path for case in DAMAGED if case.name in ("healthy", "healthy-gzip") for path, _ in segments(case)]
FORMAT_1 = next(segments(Path(__file__).parents[3] / "fixtures/0.10.1.1/codec-lz4"))[0]


def rows_by_chunk(path: Path, chunk_bytes: int, rows: int) -> list[dict[str, object]]:
    part = Slice(path=path, offsets_partition=5, start=0, end=path.stat().st_size)
    reader = RowReader(chunk_bytes=chunk_bytes, rows=rows)
    dictionaries = Dictionaries()
    rows: list[dict[str, object]] = []
    for item in reader.read(part):
        if not isinstance(item, Damage):
            rows += commits_of(item, reader.keys, 5, COMMIT_SCHEMA.names, dictionaries).to_pylist()
    return rows


@pytest.mark.parametrize("path", HEALTHY, ids=lambda path: path.parents[1].name)
@pytest.mark.parametrize("chunk_bytes", [1, 100, 333, 4096])
@pytest.mark.parametrize("rows", [1, 100])
def test_what_a_chunk_cuts_off_is_carried_over(path: Path, chunk_bytes: int, rows: int) -> None:
    expected = [{**row, "offsets_partition": 5} for row in plain(path)[0]]
    assert rows_by_chunk(path, chunk_bytes, rows) == expected


@pytest.mark.parametrize("codec", list(Codec))
def test_a_batch_larger_than_a_chunk_is_read_whole(tmp_path: Path, codec: Codec) -> None:
    records = [commit("group", "topic", n, n, "x" * (n % 50)) for n in range(30_000)]
    path = write(tmp_path, [batch(0, records, codec=codec), batch(30_000, [commit("g", "t", 0, 1)])])
    rows, others, damage = columnar(scan(whole(path, 7)))
    assert [row["offset"] for row in rows] == [*range(30_000), 1]
    assert not others and not damage


def test_chosen_columns_come_alone_and_in_order(tmp_path: Path) -> None:
    path = write(
        tmp_path, [batch(0, [commit("g", "t", 3, 8), group_metadata("g", 1)]), marker(2, 1, committed=True)]
    )
    (block,) = scan(whole(path, 7), columns=("offset", "group"), others=False)
    assert block.commits.to_pylist() == [{"offset": 8, "group": "g"}]
    assert block.others == ()


def test_damage_at_the_end_comes_without_rows(tmp_path: Path) -> None:
    path = write(tmp_path, [batch(0, [commit("g", "t", 0, 1)]), b"\x00" * 100])
    blocks = list(scan(whole(path, 7)))
    assert [block.commits.num_rows for block in blocks] == [1, 0]
    assert blocks[1].damage == tuple(plain(path)[2])


def test_crc_is_checked_unless_told_otherwise(tmp_path: Path) -> None:
    raw = bytearray(batch(0, [commit("g", "t", 0, 1)]))
    raw[20] ^= 1
    path = write(tmp_path, [bytes(raw)])
    assert columnar(scan(whole(path, 7)))[0] == []
    assert len(columnar(scan(whole(path, 7), verify_crc=False))[0]) == 1


def test_a_file_that_is_gone_is_named(tmp_path: Path) -> None:
    part = Slice(path=tmp_path / "gone.log", offsets_partition=0, start=0, end=10)
    with pytest.raises(SourceError, match=r"gone\.log"):
        list(scan([part]))


def test_a_file_that_has_shrunk_since_ends_where_it_ends(tmp_path: Path) -> None:
    path = write(tmp_path, [batch(n, [commit("g", "t", 0, n)]) for n in range(3)])
    slices = split(path, 7, 1 << 20)
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 3])
    assert [row["offset"] for row in columnar(scan(slices))[0]] == [0]


def with_right_crcs(raw: bytearray) -> bytes:
    """The segment with the CRC of every v2 batch that can be found made right, so that damage lies deeper."""
    position = 0
    while position + 61 <= len(raw):
        size = 12 + int.from_bytes(raw[position + 8 : position + 12], "big", signed=True)
        if size < 61 or position + size > len(raw) or raw[position + 16] != 2:
            break
        crc = google_crc32c.value(bytes(raw[position + 21 : position + size]))
        raw[position + 17 : position + 21] = crc.to_bytes(4, "big")
        position += size
    return bytes(raw)


mutations = st.lists(st.tuples(st.integers(0, 1 << 20), st.integers(0, 255)), min_size=1, max_size=4)


@given(st.sampled_from([*HEALTHY, FORMAT_1]), mutations, st.booleans(), st.integers(0, 1 << 20))
@settings(max_examples=300)
def test_mutated_segments_read_as_the_plain_path_reads_them(
    source: Path, changes: list[tuple[int, int]], repair: bool, cut: int
) -> None:
    raw = bytearray(source.read_bytes()[:4000])
    for position, octet in changes:
        raw[position % len(raw)] = octet
    if cut % 4 == 0:
        del raw[cut % len(raw) :]
    with TemporaryDirectory() as folder:
        path = write(Path(folder), [with_right_crcs(raw) if repair else bytes(raw)])
        assert columnar(scan(whole(path, 7))) == plain(path)


@given(
    st.lists(st.tuples(st.binary(max_size=40) | st.none(), st.binary(max_size=60) | st.none()), max_size=12),
    st.sampled_from(list(Codec)),
)
@settings(max_examples=300)
def test_records_of_any_bytes_read_as_the_plain_path_reads_them(
    records: list[tuple[bytes | None, bytes | None]], codec: Codec
) -> None:
    with TemporaryDirectory() as folder:
        path = write(Path(folder), [batch(5, records, codec=codec)])
        assert columnar(scan(whole(path, 7))) == plain(path)


KEY, VALUE = commit("grüße", "t", 0, 1, "mëta")


@given(
    st.tuples(st.integers(0, len(KEY) - 1), st.integers(0, 255), st.integers(0, 3)),
    st.tuples(st.integers(0, len(VALUE or b"") - 1), st.integers(0, 255), st.integers(0, 3)),
    st.integers(0, 6),
)
@settings(max_examples=500)
def test_mutated_commits_read_as_the_plain_path_reads_them(
    key_change: tuple[int, int, int], value_change: tuple[int, int, int], version: int
) -> None:
    assert VALUE is not None
    records = [
        (mutated(KEY, key_change), VALUE),
        (KEY, mutated(VALUE, value_change)),
        (KEY, version.to_bytes(2, "big") + VALUE[2:] + bytes(8)),
        (mutated(KEY, key_change), None),
    ]
    with TemporaryDirectory() as folder:
        path = write(Path(folder), [batch(0, records)])
        assert columnar(scan(whole(path, 7))) == plain(path)


def mutated(raw: bytes, change: tuple[int, int, int]) -> bytes:
    """One byte set to another; kind 1 cuts there, kind 2 appends."""
    position, octet, kind = change
    if kind == 1:
        return raw[:position]
    out = bytearray(raw)
    out[position] = octet
    return bytes(out) + (b"\x07" if kind == 2 else b"")


def control(offset: int, producer_id: int, key: bytes, value: bytes = bytes(6), **more: object) -> bytes:
    record = LogRecord(offset=offset, timestamp_ms=1000 + offset, key=key, value=value)
    return encode_batch(
        [record],
        producer_id=producer_id,
        producer_epoch=3,
        transactional=True,
        control=True,
        **more,  # type: ignore[arg-type]
    )


@pytest.mark.parametrize(
    "odd",
    [
        control(1, 5, bytes([0, 0, 0, 1]), codec=Codec.GZIP),
        control(1, 5, bytes([0, 0, 0, 0]), codec=Codec.ZSTD),
        control(1, 5, bytes([0, 0, 0, 1, 9])),
        control(1, 5, bytes([0, 0, 0, 7])),
        control(1, 5, bytes([0, 9, 0, 1])),
        control(1, 5, b""),
    ],
    ids=["compressed", "compressed abort", "longer key", "another kind", "another version", "no key"],
)
def test_a_marker_that_is_odd_is_what_the_plain_path_makes_of_it(tmp_path: Path, odd: bytes) -> None:
    path = tmp_path / NAME
    path.write_bytes(
        batch(0, [commit("g", "t", 0, 4)], producer_id=5) + odd + batch(2, [commit("g", "t", 1, 6)])
    )
    assert columnar(scan(whole(path, 3))) == plain_of(path)


def plain_of(path: Path) -> object:
    rows, others, damage = plain(path)
    return (
        [row | {"offsets_partition": 3} for row in rows],
        [replace(each, partition=3) for each in others],
        damage,
    )


def test_many_groups_get_dictionaries_of_the_ones_in_use(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / NAME
    path.write_bytes(
        batch(0, [commit(f"g{n}", f"t{n % 3}", 0, n) for n in range(50)])
        + batch(50, [commit("g7", "t1", 0, 50), commit("g9", "t2", 0, 51)])
    )
    expected = columnar(scan(whole(path, 3)))
    monkeypatch.setattr("kgroup.scan.reading.arrow._SHARED_DICTIONARY", 2)
    assert columnar(scan(whole(path, 3))) == expected
