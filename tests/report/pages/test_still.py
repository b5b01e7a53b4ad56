"""Timelines as still pictures: what is drawn, whatever a log holds."""

import struct
import sys
from xml.etree import ElementTree

import pytest

from kgroup.errors import InputError, KgroupError, SourceError
from kgroup.report.pages.still import write_png, write_svg
from tests.history.group_log import GroupLog, member
from tests.report.pages.test_history import crowd, pages_of, storm


def drawn(timelines, folder):
    """The root of the SVG, and the texts in it."""
    write_svg(pages_of(timelines), folder / "still.svg")
    root = ElementTree.parse(folder / "still.svg").getroot()
    return root, [element.text for element in root.iter("{http://www.w3.org/2000/svg}text")]


def test_each_generation_has_its_number_and_each_share_its_partitions(tmp_path):
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1, 2))
    log.generation(10, 2, member("a", 0), member("b", 1, 2))
    log.commit(20, 0, 7)
    _, texts = drawn([log.timeline()], tmp_path)
    assert texts[texts.index("rebalances") + 1 :][:7] == ["1", "2", "a", "b", "t:0-2", "t:0", "t:1-2"]


def test_the_axis_is_of_time_and_a_share_as_wide_as_it_lasted(tmp_path):
    log = GroupLog()
    log.generation(0, 1, member("a", 0, 1))
    log.generation(30, 2, member("a", 0), member("b", 1))
    log.commit(120, 0, 7)
    root, texts = drawn([log.timeline()], tmp_path)
    assert texts[2:8] == ["UTC", "00:00:00", "1970-01-01", "00:00:20", "00:00:40", "00:01:00"]
    boxes = [box.attrib for box in root.iter("{http://www.w3.org/2000/svg}rect")]
    first, second, *_ = (float(box["width"]) for box in boxes if box["class"] in {"o0", "o5"})
    # 30 seconds, and the 96 to the end: the last share is drawn a twentieth beyond what is known.
    assert first * 96 / 30 == pytest.approx(second, abs=8)


def test_a_hundred_rebalances_are_counted_in_round_times(tmp_path):
    """One every 30 seconds for 3 h 20 min; of two minutes there are more than find room."""
    _, texts = drawn([crowd(3, 400)], tmp_path)
    assert "up to 10 in 5m 0s" in texts


def test_it_has_a_ground_for_a_dark_page(tmp_path):
    root, _ = drawn([storm()], tmp_path)
    style = next(root.iter("{http://www.w3.org/2000/svg}style")).text
    light, _, dark = style.partition("@media (prefers-color-scheme:dark)")
    assert ".ground{fill:#ffffff}" in light and ".ground{fill:#0f1419}" in dark


def test_a_group_of_few_generations_is_wide_enough_for_what_is_said_of_it(tmp_path):
    log = GroupLog()
    log.generation(0, 1, member("a", 0))
    root, texts = drawn([log.timeline()], tmp_path)
    longest = max(map(len, texts))
    assert int(root.attrib["width"]) >= 6 * longest


def test_a_group_that_only_commits_has_its_place_without_any_generation(tmp_path):
    log = GroupLog()
    log.commit(1, 0, 7)
    timeline = log.timeline()
    assert not timeline.generations
    _, texts = drawn([timeline], tmp_path)
    assert texts[0] == timeline.group_id


def test_the_still_is_xml_whatever_names_hold(tmp_path):
    log = GroupLog()
    log.generation(0, 1, member("a\x00b<&\ud800", 0))
    write_svg(pages_of([log.timeline()]), tmp_path / "still.svg")
    texts = [element.text for element in ElementTree.parse(tmp_path / "still.svg").iter()]
    assert "a\\x00b<&\\ud800" in texts


def test_the_still_as_png_has_twice_the_size_of_the_svg(tmp_path):
    write_png(pages_of([storm()]), tmp_path / "still.png")
    content = (tmp_path / "still.png").read_bytes()
    assert content[:8] == b"\x89PNG\r\n\x1a\n"
    write_svg(pages_of([storm()]), tmp_path / "still.svg")
    drawn = ElementTree.parse(tmp_path / "still.svg").getroot()
    size = struct.unpack(">II", content[16:24])
    assert size == (2 * int(drawn.attrib["width"]), 2 * int(drawn.attrib["height"]))


def test_a_picture_that_would_fill_the_memory_is_refused(tmp_path):
    with pytest.raises(InputError, match="--png: 600 groups are too many for one picture"):
        write_png(pages_of([crowd(100, 2)] * 600), tmp_path / "still.png")
    assert not (tmp_path / "still.png").exists()


def test_a_still_that_cannot_be_written_is_an_error(tmp_path):
    with pytest.raises(SourceError, match=r"cannot write .*: No such file"):
        write_png(pages_of([storm()]), tmp_path / "nowhere" / "still.png")


def test_without_its_renderer_png_says_what_to_install(tmp_path, monkeypatch):
    monkeypatch.setitem(sys.modules, "resvg_py", None)
    with pytest.raises(KgroupError, match=r"pip install 'kgroup\[png\]'"):
        write_png(pages_of([storm()]), tmp_path / "still.png")
