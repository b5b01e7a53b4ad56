"""The verdicts of the loading rules are those of the real brokers that were started on the same bytes."""

from pathlib import Path

import pytest

from kgroup.api.fsck import replayed
from kgroup.history.loading.model import Obstacle, Outcome
from kgroup.history.loading.partition import PartitionLoading, SegmentFacts, outcome_of
from kgroup.history.loading.releases import release_of
from kgroup.scan.reductions.scan import Slice, scan
from tests.fsck.crafted import crafted
from tests.fsck.recorded import Recorded, recorded

AS_RECORDED = {
    Outcome.LOADS: "loaded",
    Outcome.LOADS_LESS: "loaded",
    Outcome.FAILS: "failed",
    Outcome.EMPTY: "failed",
    Outcome.NO_START: "refused to start",
}


def obstacles(raw: bytes, version: str, path: Path, *, clean: bool) -> tuple[Obstacle, ...]:
    path.write_bytes(raw)
    path.with_suffix(".index").touch()
    release = release_of(version)
    loading = PartitionLoading([release])
    facts = SegmentFacts(path=str(path), size=len(raw), is_checked=not clean, walked_from=0)
    blocks = list(scan([Slice(path=path, offsets_partition=0, start=0, end=len(raw))]))
    damage = [each for block in blocks for each in block.damage]
    if damage:
        loading.damaged(facts, raw, damage)
    else:
        loading.healthy(facts, replayed(blocks))
    return loading.obstacles()[release]


CASES = [
    (version, case, clean, what)
    for version, cases in recorded().items()
    for case, by_end in cases.items()
    for clean, what in by_end.items()
    # 3.x keeps the groups of all partitions in one place, and in these logs they share their names.
    if not what.says.startswith("Unexpected unload of active group app while loading partition")
]


@pytest.mark.parametrize(
    ("version", "case", "clean", "what"),
    CASES,
    ids=[f"{version}-{case}-{'stopped' if clean else 'crashed'}" for version, case, clean, _ in CASES],
)
def test_the_verdict_is_what_the_broker_did(
    version: str, case: str, clean: bool, what: Recorded, tmp_path: Path
) -> None:
    found = obstacles(crafted()[case], version, tmp_path / f"{0:020}.log", clean=clean)
    assert AS_RECORDED[outcome_of(found)] == what.outcome, found
    if what.size is not None:
        assert [each.position for each in found if each.position is not None][:1] == [what.size]
