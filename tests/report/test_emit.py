import csv
import io
import json
import sys
from datetime import UTC, datetime

import pytest

from kgroup.errors import InputError, SourceError
from kgroup.report.emit import (
    Column,
    JsonText,
    Kind,
    OutputFormat,
    OutputOptions,
    emit,
    iso_time,
    short_duration,
    to_json,
)

COLUMNS = (
    Column(name="group"),
    Column(name="lag", kind=Kind.INTEGER),
    Column(name="committed_at", kind=Kind.TIME_MS),
    Column(name="time_lag", kind=Kind.DURATION_MS),
    Column(name="stuck", kind=Kind.BOOLEAN),
    Column(name="share", kind=Kind.FLOAT),
    Column(name="members", kind=Kind.NESTED),
)
KNOWN = {
    "group": "orders",
    "lag": 7,
    "committed_at": 1_700_000_000_123,
    "time_lag": 65_000,
    "stuck": True,
    "share": 0.5,
    "members": ["a", "b"],
}
UNKNOWN = dict.fromkeys(KNOWN)


class Terminal(io.StringIO):
    def isatty(self):
        return True


@pytest.fixture
def emitted(capfd, monkeypatch):
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(rows, output_format, columns=COLUMNS, **options):
        emit(rows, columns, OutputOptions(format=OutputFormat(output_format), **options))
        sys.stdout.flush()
        return capfd.readouterr().out

    return run


def test_a_table_shows_utc_times_units_and_a_dash_for_what_is_unknown(emitted):
    assert emitted([KNOWN, UNKNOWN], "table") == (
        "GROUP   LAG  COMMITTED-AT              TIME-LAG  STUCK  SHARE  MEMBERS\n"
        "orders    7  2023-11-14T22:13:20.123Z     1m 5s  yes     0.50  a,b\n"
        "-         -  -                                -  -          -  -\n"
    )


def test_json_is_one_array_with_numbers_as_numbers_and_null_for_what_is_unknown(emitted):
    assert json.loads(emitted([KNOWN, UNKNOWN], "json")) == [KNOWN, UNKNOWN]


def test_json_of_no_rows_is_an_empty_array(emitted):
    assert json.loads(emitted([], "json")) == []


def test_json_lines_are_one_row_a_line(emitted):
    assert [json.loads(line) for line in emitted([KNOWN, UNKNOWN], "jsonl").splitlines()] == [KNOWN, UNKNOWN]


def test_csv_has_field_names_and_empty_fields_for_what_is_unknown(emitted):
    assert emitted([KNOWN, UNKNOWN], "csv") == (
        "group,lag,committed_at,time_lag,stuck,share,members\n"
        'orders,7,1700000000123,65000,true,0.5,"[""a"", ""b""]"\n'
        ",,,,,,\n"
    )


def test_headings_can_be_left_out_of_tables_and_csv(emitted):
    columns = COLUMNS[:2]
    assert emitted([KNOWN], "table", columns, headers=False) == "orders  7\n"
    assert emitted([KNOWN], "csv", columns, headers=False) == "orders,7\n"


def test_parquet_has_types_and_nulls(tmp_path):
    from pyarrow import parquet

    path = tmp_path / "report.parquet"
    emit([KNOWN, UNKNOWN], COLUMNS, OutputOptions(format=OutputFormat.PARQUET, path=path))
    first, second = parquet.read_table(path).to_pylist()
    assert first == {
        **KNOWN,
        "committed_at": datetime(2023, 11, 14, 22, 13, 20, 123_000, UTC),
        "members": '["a", "b"]',
    }
    assert second == UNKNOWN


def test_parquet_of_no_rows_still_says_its_columns(tmp_path):
    from pyarrow import parquet

    path = tmp_path / "report.parquet"
    emit([], COLUMNS, OutputOptions(format=OutputFormat.PARQUET, path=path))
    assert parquet.read_table(path).column_names == [column.name for column in COLUMNS]


def test_parquet_goes_into_a_pipe_but_not_onto_a_terminal(capfdbinary, monkeypatch):
    emit([KNOWN], COLUMNS, OutputOptions(format=OutputFormat.PARQUET))
    sys.stdout.flush()
    assert capfdbinary.readouterr().out.startswith(b"PAR1")
    monkeypatch.setattr(sys, "stdout", Terminal())
    with pytest.raises(InputError, match="--output"):
        emit([KNOWN], COLUMNS, OutputOptions(format=OutputFormat.PARQUET))


@pytest.mark.parametrize("output_format", ["table", "json", "jsonl", "csv"])
def test_a_file_gets_what_the_screen_would(emitted, tmp_path, output_format):
    path = tmp_path / "report"
    on_screen = emitted([KNOWN, UNKNOWN], output_format)
    assert emitted([KNOWN, UNKNOWN], output_format, path=path) == ""
    assert path.read_text() == on_screen


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    path = tmp_path / "missing" / "report"
    for output_format in OutputFormat:
        with pytest.raises(SourceError, match=f"cannot write {path}: No such file"):
            emit([KNOWN], COLUMNS, OutputOptions(format=output_format, path=path))


def test_group_ids_cannot_command_the_terminal_but_json_keeps_them(emitted):
    row = {"group": "a\x1b[2Jb\n"}
    assert "\x1b" not in emitted([row], "table")
    assert json.loads(emitted([row], "jsonl")) == row


def test_an_empty_text_is_seen_in_a_table(emitted):
    assert emitted([{"group": ""}], "table", COLUMNS[:1]) == 'GROUP\n""\n'


@pytest.mark.parametrize("output_format", ["table", "json", "jsonl", "csv", "parquet"])
def test_a_lone_surrogate_of_a_java_string_breaks_no_format(tmp_path, output_format):
    path = tmp_path / "report"
    emit([{"group": "\ud83d"}], COLUMNS, OutputOptions(format=OutputFormat(output_format), path=path))
    if output_format == "jsonl":
        assert json.loads(path.read_text()) == {"group": "\ud83d"}
    assert b"\\ud83d" in path.read_bytes()


def test_output_is_utf_8_in_any_locale(emitted):
    assert emitted([{"group": "日本語"}], "jsonl") == '{"group": "日本語"}\n'


def test_a_terminal_narrower_than_the_table_gets_a_table_that_fits(monkeypatch):
    monkeypatch.setenv("COLUMNS", "80")
    screen = Terminal()
    monkeypatch.setattr(sys, "stdout", screen)
    emit([KNOWN | {"group": "payments-reconciliation-nightly"}], COLUMNS, OutputOptions())
    assert max(map(len, screen.getvalue().splitlines())) <= 80
    assert "nightly" in screen.getvalue()


def test_a_live_source_is_flushed_row_by_row(monkeypatch):
    flushed = []

    class Screen(io.StringIO):
        def flush(self):
            flushed.append(self.getvalue())

    monkeypatch.setattr(sys, "stdout", Screen())
    emit([{"group": "a"}, {"group": "b"}], COLUMNS[:1], OutputOptions(format=OutputFormat.JSONL, live=True))
    assert flushed == ['{"group": "a"}\n', '{"group": "a"}\n{"group": "b"}\n']


@pytest.mark.parametrize(
    ("time_ms", "shown"),
    [
        (0, "1970-01-01T00:00:00.000Z"),
        (1_700_000_000_123, "2023-11-14T22:13:20.123Z"),
        (-1, "1969-12-31T23:59:59.999Z"),
        (2**63 - 1, "9223372036854775807"),
    ],
)
def test_times(time_ms, shown):
    assert iso_time(time_ms) == shown


@pytest.mark.parametrize(
    ("duration_ms", "shown"),
    [
        (0, "0s"),
        (350, "350ms"),
        (12_500, "12.5s"),
        (59_999, "59.999s"),
        (903_000, "15m 3s"),
        (7_500_000, "2h 5m"),
        (273_600_000, "3d 4h"),
        (-1500, "-1.5s"),
    ],
)
def test_durations(duration_ms, shown):
    assert short_duration(duration_ms) == shown


HOSTILE = "\x1b[31mred \x9b2J \u202egnp \x7f \u2028 \U000e0041 日本 😀 e\u0301 a\r\n"


@pytest.mark.parametrize("output_format", ["table", "json", "jsonl", "csv"])
def test_no_format_hands_a_terminal_what_it_would_obey(emitted, output_format):
    columns = [Column(name="group"), Column(name="names", kind=Kind.NESTED)]
    written = emitted([{"group": HOSTILE, "names": [{"id": HOSTILE}]}], output_format, columns)
    assert all(line.isprintable() for line in written.split("\n"))
    assert all(shown in written for shown in ("日本", "😀", "e\u0301"))


@pytest.mark.parametrize("text", [HOSTILE, "\ud800 alone", '"\\'])
def test_json_reads_back_as_what_it_was(text):
    assert json.loads(to_json({"group": text})) == {"group": text}
    assert json.loads(to_json(JsonText(json.dumps(text, ensure_ascii=False)))) == text


@pytest.mark.parametrize(
    "value",
    [
        {"lag": 5, "at_ms": -(1 << 70)},
        {"100% of it": 1, '"': 2, HOSTILE: 3},
        {"lag": 5, "is_known": True},
        {"lag": 5, "rate": 0.5, "at_ms": None},
        {1: 2},
        {},
    ],
)
def test_json_of_numbers_is_that_of_any_mapping(value):
    in_a_list = to_json([value])
    assert to_json(value) == in_a_list[1:-1]
    assert json.loads(to_json(value)) == {str(name): number for name, number in value.items()}


@pytest.mark.parametrize("name", ["=1+1", "+1", "-1", "@SUM(A1)", "\uff1d1", "'quoted", "=cmd|' /C calc'!A0"])
def test_csv_has_no_name_that_a_spreadsheet_calculates(emitted, name):
    columns = [
        Column(name="group"),
        Column(name="lag", kind=Kind.INTEGER),
        Column(name="seconds", kind=Kind.FLOAT),
    ]
    written = emitted([{"group": name, "lag": -5, "seconds": -1.5}], "csv", columns)
    assert list(csv.reader(written.splitlines()))[1] == [f"'{name}", "-5", "-1.5"]


@pytest.mark.parametrize("name", ["a=b", "orders-app", "", "1", "\ttab", "\rreturn"])
def test_csv_leaves_other_names(emitted, name):
    written = emitted([{"group": name, "lag": 1}], "csv", [Column(name="group"), Column(name="lag")])
    assert list(csv.reader(written.splitlines()))[1][0] == name.replace("\t", "\\t").replace("\r", "\\r")


def test_names_with_a_backslash_are_told_from_escapes(emitted):
    columns = [Column(name="group"), Column(name="names", kind=Kind.NESTED)]
    for output_format in ("table", "csv"):
        written = emitted(
            [{"group": "a\\x1b", "names": []}, {"group": "a\x1b", "names": []}], output_format, columns
        )
        assert "a\\\\x1b" in written.splitlines()[1]
        assert "a\\x1b" in written.splitlines()[2]
    assert "a\\\\x1b,b" in emitted([{"group": "g", "names": ["a\\x1b", "b"]}], "table", columns)
