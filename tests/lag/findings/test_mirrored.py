"""A group's offsets in a mirror: what is right, what would be skipped or repeated, and what nobody knows."""

import pytest

from kgroup.lag.findings.mirrored import (
    MirroredCommit,
    MirrorFindingKind,
    MirrorVerdict,
    judged,
    mirror_findings,
)
from kgroup.log.topics.translated import Mirrored, Recognised

V = MirrorVerdict


def records(numbers: range, first: int) -> list[Recognised]:
    return [Recognised(first + index, b"%d" % number) for index, number in enumerate(numbers)]


def logs(shift: int = 10, copied: int = 10) -> Mirrored:
    """Ten records of the source at offset 0, the first of them in the mirror from offset `shift` on."""
    return Mirrored(records(range(10), 0), records(range(copied), shift))


def commit(
    source: int,
    mirror: int | None,
    end: int | None = 20,
    at: Mirrored | None = None,
    start: int | None = 10,
) -> MirroredCommit:
    """By the logs; the mirror's begins at offset 10 and ends at 20."""
    return placed(source, mirror, start, end, logs() if at is None else at)


def placed(
    source: int, mirror: int | None, start: int | None, end: int | None, at: Mirrored | None
) -> MirroredCommit:
    return judged(
        "g",
        "t",
        0,
        source_offset=source,
        mirror_offset=mirror,
        mirror_start=start,
        mirror_end=end,
        logs=at,
    )


@pytest.mark.parametrize(
    ("mirror", "verdict", "skipped", "repeated"),
    [
        (14, V.IN_PLACE, (0, 0), (0, 0)),
        (13, V.REPEATS, (0, 0), (1, 1)),
        (10, V.REPEATS, (0, 0), (4, 4)),
        (3, V.OUT_OF_RANGE, None, None),
        (15, V.SKIPS, (1, 1), (0, 0)),
        (20, V.SKIPS, (6, 6), (0, 0)),
        (21, V.UNTRANSLATED, None, None),
        (4, V.UNTRANSLATED, None, None),
        (None, V.NO_COMMIT, None, None),
    ],
)
def test_a_group_that_read_four_of_ten_is_right_at_14(
    mirror: int | None, verdict: V, skipped: tuple[int, int] | None, repeated: tuple[int, int] | None
) -> None:
    made = commit(4, mirror)
    assert (made.verdict, made.skipped, made.repeated, made.right) == (verdict, skipped, repeated, (14, 14))


def test_a_mirror_with_the_sources_own_offsets_needs_no_translation() -> None:
    same = logs(shift=0)
    assert commit(4, 4, 10, same, 0).verdict is V.IN_PLACE
    assert commit(4, 6, 10, same, 0).verdict is V.SKIPS
    # It is only behind: what is committed will be its end.
    assert commit(9, 9, 6, logs(shift=0, copied=6), 0).verdict is V.OUT_OF_RANGE


def test_an_offset_as_in_the_source_is_untranslated_also_within_the_log() -> None:
    shifted = logs(shift=2)
    made = commit(4, 4, 12, shifted, 2)
    assert (made.verdict, made.repeated) == (V.UNTRANSLATED, (2, 2))
    assert commit(4, 5, 12, shifted, 2).verdict is V.REPEATS


def test_what_the_mirror_has_not_got_yet_is_missing() -> None:
    assert commit(4, 14, 17, logs(copied=7)).missing == 3
    assert commit(8, 17, 17, logs(copied=7)).missing == 2


def test_without_the_logs_nothing_is_known_but_an_offset_beyond_the_end() -> None:
    unlike = Mirrored(records(range(10), 0), records(range(50, 60), 10))
    for at in (None, unlike):
        made = placed(4, 14, 10, 20, at)
        assert (made.verdict, made.right, made.skipped, made.missing) == (V.UNKNOWN, None, None, None)
        assert placed(4, 21, 10, 20, at).verdict is V.OUT_OF_RANGE
        assert placed(4, 9, 10, 20, at).verdict is V.OUT_OF_RANGE
    assert placed(4, 21, None, None, None).verdict is V.UNKNOWN


def test_bounds_say_both_and_accuse_of_neither() -> None:
    twice = [*records(range(4), 10), Recognised(14, b"3"), *records(range(4, 10), 15)]
    made = commit(4, 14, 21, Mirrored(records(range(10), 0), twice))
    # Record 3 is there twice: whoever has read it stands before the second or behind it.
    assert made.verdict is V.UNCERTAIN
    assert (made.right, made.skipped, made.repeated) == ((13, 15), (0, 1), (0, 1))
    assert list(mirror_findings([made])) == []


def test_findings_are_by_group_and_name_the_numbers() -> None:
    found = list(mirror_findings([commit(4, 21), commit(4, 4), commit(4, 17), commit(4, 13), commit(4, 14)]))
    assert [each.kind for each in found] == [
        MirrorFindingKind.UNTRANSLATED_OFFSETS,
        MirrorFindingKind.SKIPS_AFTER_FAILOVER,
    ]
    assert found[0].evidence == (
        "2 partitions: t-0 is committed at 21, the log ends at 20; 14 is right, t-0 is committed at 4, as in"
        " the source; 14 is right"
    )
    assert found[1].evidence == "1 partition: t-0 skips 3 unread"
    (beyond,) = mirror_findings([placed(4, 21, None, 20, None)])
    assert beyond.kind is MirrorFindingKind.OUT_OF_RANGE
    assert beyond.evidence == "1 partition: t-0 is committed at 21, and the log is from ? to 20"
