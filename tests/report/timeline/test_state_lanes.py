from kgroup.report.timeline.state_lanes import Lane, Picture, draw_lanes


def drawn(*lanes, end_ms=70_000, marks=(), width=79):
    picture = Picture(end_ms=end_ms, lanes=lanes, calm=" -", marks=marks, legend={"-": "calm", "p": "pause"})
    return list(draw_lanes(picture, width))


def test_a_lane_has_a_letter_for_each_stretch_of_time():
    lines = drawn(Lane(name="member1", changes=[(0, " "), (10_000, "p"), (20_000, "-")]))
    assert lines == [
        "         0s             15s            30s            45s            1m",
        "member1            pppppppppp" + "-" * 50,
        "         - calm  p pause",
    ]


def test_what_is_short_does_not_vanish_between_two_columns():
    lines = drawn(Lane(name="member1", changes=[(0, "-"), (30_100, "p"), (30_103, "-")]))
    assert lines[1] == "member1  " + "-" * 30 + "p" + "-" * 39


def test_of_two_short_ones_in_a_column_the_longer_is_shown():
    lines = drawn(Lane(name="member1", changes=[(0, "-"), (30_100, "p"), (30_103, "c"), (30_110, "-")]))
    assert lines[1] == "member1  " + "-" * 30 + "c" + "-" * 39


def test_marks_stand_above_the_moment_they_are_for():
    lines = drawn(Lane(name="member1", changes=[(0, "-")]), marks=[0, 35_000, 69_999])
    assert lines[1] == " " * 9 + "!" + " " * 34 + "!" + " " * 33 + "!"


def test_lines_stay_within_the_width_whatever_the_names_and_times():
    for end_ms in (1, 50, 1_000, 3_600_000, 86_400_000, 10**9):
        lanes = [Lane(name=name, changes=[(0, "-")]) for name in ("c1", "a-long-name", "ａ")]
        assert all(len(line) <= 80 for line in drawn(*lanes, end_ms=end_ms, width=80))


def test_a_legend_moves_left_where_long_names_leave_it_no_room():
    legend = "- calm  p pause"
    assert drawn(Lane(name="m" * 20, changes=[(0, "-")]), width=40)[-1] == " " * 22 + legend
    assert drawn(Lane(name="m" * 20, changes=[(0, "-")]), width=35)[-1] == " " * 20 + legend


def test_a_name_cannot_move_the_cursor():
    assert drawn(Lane(name="a\x1b[2Jb", changes=[(0, "-")]))[1].startswith("a\\x1b[2Jb  -")
