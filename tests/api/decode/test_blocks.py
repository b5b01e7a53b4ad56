"""Records as text in bulk: the same bytes, problems and names as record by record."""

import errno
import io
import random
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from pyarrow import parquet

from kgroup.api.decode.decoded import Decoded, decode
from kgroup.api.opened import open_logs
from kgroup.log.format.batch import Codec
from kgroup.report.emit import OutputFormat, OutputOptions, arrow_schema, emit, emit_json, emit_parquet
from kgroup.report.emit_text import emit_table_text, emit_text
from kgroup.report.records.columns import ARROW_COLUMNS, COLUMNS, TABLE_COLUMNS
from kgroup.report.records.item_columns import write_records
from kgroup.scan.kernels.compile import TIER
from tests.fuzz.mutations import MUTATIONS
from tests.log.drawn_log import drawn_log
from tests.log.offsets_log import NAME, batch, commit, group_metadata, tombstone
from tests.scan.tiers import kernels

FIXTURES = Path(__file__).parents[3] / "fixtures"
CAPTURES = [
    "4.3.1/lives",  # all kinds of groups, transactions
    "3.9.1/compacted",  # gaps, empty batches, tombstones
    "3.9.1/codec-zstd",
    "0.10.1.1/codec-gzip",  # wrapper messages
    "1.1.1/format-0.9",  # no times but those of the commits
]
DAMAGED = sorted(path.name for path in (FIXTURES / "damaged").iterdir() if path.is_dir())
FORMATS = [OutputFormat.JSONL, OutputFormat.JSON, OutputFormat.CSV, OutputFormat.TABLE]
FILTERS: dict[str, dict[str, Any]] = {
    "commits": {"types": "offset-commit"},
    "undecoded": {"types": "undecoded"},
    "what has no group": {"types": ("control", "empty-batch")},
    "groups": {"groups": "*a*"},
    "topic": {"topics": "*:0"},
    "offsets": {"first_offset": 20, "last_offset": 40},
    "tombstones": {"tombstones": True},
    "nobody": {"groups": "nope"},
    "latest": {"latest": True},
}


@pytest.fixture(autouse=True)
def _as_of_large_logs() -> Iterator[None]:
    with kernels(compiled=True):
        yield


def answer(
    log: Path, output: OutputFormat, folder: Path, *, in_bulk: bool, **asked: Any
) -> tuple[object, ...]:
    decoded = decode(open_logs(log), **asked)
    path = folder / "out"
    options = OutputOptions(format=output, path=path)
    if output is OutputFormat.TABLE and in_bulk:
        emit_table_text(decoded.text_pieces(output), TABLE_COLUMNS, options)
    elif output is OutputFormat.TABLE:
        emit(decoded.table_rows(), TABLE_COLUMNS, options)
    elif in_bulk:
        emit_text(decoded.text_pieces(output), COLUMNS, options)
    elif output is OutputFormat.CSV:
        emit(decoded.csv_rows(), COLUMNS, options)
    else:
        emit_json(decoded.json_texts(), options)
    return path.read_bytes(), decoded.problems, decoded.missing, _counts(decoded)


def _counts(decoded: Decoded) -> tuple[int, ...]:
    counts = decoded.counts
    return counts.shown, counts.damaged, counts.undecodable, counts.odd


def assert_same(log: Path, output: OutputFormat, folder: Path, **asked: Any) -> None:
    one_by_one = answer(log, output, folder, in_bulk=False, **asked)
    assert answer(log, output, folder, in_bulk=True, **asked) == one_by_one


@pytest.mark.parametrize("output", FORMATS, ids=lambda output: output.value)
@pytest.mark.parametrize("capture", CAPTURES)
def test_every_record(capture: str, output: OutputFormat, tmp_path: Path) -> None:
    assert_same(FIXTURES / capture, output, tmp_path)


@pytest.mark.parametrize("capture", [*CAPTURES, "damaged/noise-inside", "damaged/trailing-bytes-in-value"])
def test_columns(capture: str, tmp_path: Path) -> None:
    one_by_one, in_bulk = tmp_path / "one_by_one", tmp_path / "in_bulk"
    decoded = decode(open_logs(FIXTURES / capture))
    before = OutputOptions(format=OutputFormat.PARQUET, path=one_by_one)
    emit_parquet(decoded.batches(), ARROW_COLUMNS, before, write_records)
    options = OutputOptions(format=OutputFormat.PARQUET, path=in_bulk)
    emit_parquet(decoded.tables(), ARROW_COLUMNS, options, write_records)
    assert parquet.read_table(in_bulk).equals(parquet.read_table(one_by_one), check_metadata=True)
    footer, footer_before = (parquet.ParquetFile(path).metadata for path in (in_bulk, one_by_one))
    assert footer.metadata == footer_before.metadata
    assert footer.num_row_groups == footer_before.num_row_groups


@pytest.mark.parametrize("groups", [1, 3])
def test_a_row_group_that_cannot_be_written_is_no_small_matter(groups: int) -> None:
    class FullForAMoment(io.BytesIO):
        is_full = True

        def write(self, data: Any) -> int:
            if self.is_full and self.tell() > len(b"PAR1"):
                self.is_full = False
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data)

    table = pa.Table.from_pylist([{"partition": 1}], arrow_schema(ARROW_COLUMNS))
    with pytest.raises(OSError, match="No space left"):
        write_records([table] * groups, ARROW_COLUMNS, FullForAMoment())


@pytest.mark.parametrize("case", DAMAGED)
def test_damage_and_what_cannot_be_decoded(case: str, tmp_path: Path) -> None:
    for output in (OutputFormat.JSONL, OutputFormat.CSV, OutputFormat.TABLE):
        assert_same(FIXTURES / "damaged" / case, output, tmp_path)


@pytest.mark.parametrize("asked", FILTERS.values(), ids=FILTERS.keys())
def test_filters(asked: dict[str, Any], tmp_path: Path) -> None:
    for capture in ("4.3.1/lives", "3.9.1/compacted"):
        for output in (OutputFormat.JSONL, OutputFormat.TABLE):
            assert_same(FIXTURES / capture, output, tmp_path, **asked)


@pytest.mark.parametrize("columns", ["60", "100", "300"])
def test_a_table_fits_its_terminal(columns: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", columns)
    assert_same(FIXTURES / "4.3.1/lives", OutputFormat.TABLE, tmp_path)


def test_times(tmp_path: Path) -> None:
    for capture in ("3.9.1/compacted", "1.1.1/format-0.9"):
        times = sorted(
            entry.timestamp_ms for entry in decode(open_logs(FIXTURES / capture)) if _is_timed(entry)
        )
        middle_ms = times[len(times) // 2] if times else 1_700_000_000_000
        for asked in ({"since_ms": middle_ms}, {"until_ms": middle_ms}):
            assert_same(FIXTURES / capture, OutputFormat.JSONL, tmp_path, **asked)


def _is_timed(entry: object) -> bool:
    return getattr(entry, "timestamp_ms", -1) >= 0


@pytest.mark.parametrize("mutation", MUTATIONS, ids=lambda mutation: mutation.__name__)
def test_any_damage(mutation: Callable[[random.Random, bytearray], None], tmp_path: Path) -> None:
    for seed in range(8):
        rng = random.Random(seed)
        codec = rng.choice((Codec.NONE, Codec.NONE, Codec.GZIP))
        raw = bytearray(
            b"".join(
                batch(
                    n * 3,
                    [commit("g", "t", n, n), tombstone("g", "t", n), group_metadata("g", n)],
                    codec=codec,
                )
                for n in range(4)
            )
        )
        mutation(rng, raw)
        (tmp_path / NAME).write_bytes(raw)
        for output in (OutputFormat.JSONL, OutputFormat.TABLE):
            assert_same(tmp_path / NAME, output, tmp_path)


@pytest.mark.parametrize("compiled", [True, False], ids=["compiled", "as Python"])
@pytest.mark.parametrize("output", FORMATS, ids=lambda output: output.value)
def test_any_commits(output: OutputFormat, compiled: bool, tmp_path: Path) -> None:
    for seed in range(2):
        (tmp_path / NAME).write_bytes(drawn_log(random.Random(seed), batches=80))
        with kernels(compiled=compiled):
            assert_same(tmp_path / NAME, output, tmp_path)


@pytest.mark.parametrize(
    "metadata",
    [
        "",
        "plain",
        'quoted "" and \\ back',
        "umläut",
        "tab\tand\x1b[31m",
        "\u202e",
        "x" * 126,
        "y" * 127,
        "z" * 20_000,
    ],
    ids=lambda metadata: ascii(metadata[:12]),
)
@pytest.mark.parametrize("output", FORMATS, ids=lambda output: output.value)
def test_metadata_is_escaped_as_it_was(metadata: str, output: OutputFormat, tmp_path: Path) -> None:
    records = [
        commit("g", "t", 0, 1, metadata),
        commit('=a"b,c', "t\u202e", 1, 2**63 - 2),
        commit("g", "t", 2, -(2**63)),
    ]
    (tmp_path / NAME).write_bytes(batch(0, records, producer_id=5) + batch(9, [tombstone("g", "t", 0)]))
    assert_same(tmp_path / NAME, output, tmp_path)


@pytest.mark.parametrize("begin", [lambda decoded: decoded.text_pieces(OutputFormat.JSONL), Decoded.tables])
def test_whether_kernels_are_compiled_goes_by_the_whole_log(begin, monkeypatch):
    monkeypatch.setattr(TIER, "as_python_bytes", 1 << 40)
    monkeypatch.setattr(TIER, "found_bytes", 0)
    monkeypatch.setattr(TIER, "read_bytes", 0)
    folder = FIXTURES / "4.3.1" / "lives"
    with open_logs(str(folder)) as logs:
        next(begin(decode(logs)))
    segments = folder.glob("__consumer_offsets-*/*.log")
    assert TIER.found_bytes == sum(path.stat().st_size for path in segments)
