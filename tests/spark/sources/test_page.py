"""The `python` blocks of docs/spark.md are run from top to bottom, and must answer what they show."""

import doctest
import re
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from kgroup.api.spark_sources.lag import FindingsSource, LagSource
from kgroup.api.spark_sources.timelines import GroupsSource, TimelineSource
from kgroup.spark.sources.offsets import OffsetsSource
from kgroup.spark.sources.tables import COMMON_OPTIONS, TableSource

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

ROOT = Path(__file__).parents[3]
PAGE = ROOT / "docs" / "spark.md"
SOURCES: tuple[type[TableSource], ...] = (
    OffsetsSource,
    GroupsSource,
    TimelineSource,
    LagSource,
    FindingsSource,
)


def examples() -> list[doctest.Example]:
    text = PAGE.read_text(encoding="utf-8")
    shown = []
    for block in re.finditer(r"^```python\n(.*?)^```", text, re.DOTALL | re.MULTILINE):
        for example in doctest.DocTestParser().get_examples(block[1]):
            example.lineno += text.count("\n", 0, block.start(1))
            shown.append(example)
    return shown


@pytest.mark.spark
def test_the_page_answers_what_it_shows(spark: "SparkSession", monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(ROOT)
    zone = spark.conf.get("spark.sql.session.timeZone")
    spark.conf.set("spark.sql.session.timeZone", "UTC")
    answers: list[str] = []
    test = doctest.DocTest(examples(), {"spark": spark}, PAGE.name, str(PAGE), 0, None)
    flags = doctest.NORMALIZE_WHITESPACE | doctest.ELLIPSIS
    ended = doctest.DocTestRunner(verbose=False, optionflags=flags).run(test, out=answers.append)
    spark.conf.set("spark.sql.session.timeZone", zone)
    assert not ended.failed, "".join(answers)
    assert ended.attempted > 10


@pytest.mark.parametrize("source", SOURCES)
def test_the_page_has_every_column_with_its_type(source: type[TableSource]):
    section = PAGE.read_text(encoding="utf-8").partition(f"### `{source.NAME}`\n")[2].partition("\n#")[0]
    rows = re.findall(r"^\| `(\w+)` \| `?([^|`]+)`? \|", section, re.MULTILINE)
    schema = source({"path": "/a"}).schema()
    assert rows == [
        (each.name, each.dataType.simpleString() + ("" if each.nullable else " not null")) for each in schema
    ]


def test_the_page_has_every_option():
    text = PAGE.read_text(encoding="utf-8")
    section = text.partition("## Options\n")[2].partition("\n## ")[0]
    rows = dict(re.findall(r"^\| `(\w+)` \| ([^|]+) \|", section, re.MULTILINE))
    assert sorted(rows) == sorted({*COMMON_OPTIONS, *(name for each in SOURCES for name in each.OPTIONS)})
    for name, of in rows.items():
        takers = [each for each in SOURCES if name in (*COMMON_OPTIONS, *each.OPTIONS)]
        assert (
            of == "all"
            if len(takers) == len(SOURCES)
            else of == ", ".join(f"`{each.NAME}`" for each in takers)
        )
