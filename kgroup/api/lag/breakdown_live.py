"""`lag-report --breakdown` of a live cluster: what it answers, and what a look at unread batches adds."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from kgroup.api.lag.breakdown import Breakdown, can_be_told
from kgroup.api.lag.inputs import LagInputs
from kgroup.lag.measures.rows import LagRow
from kgroup.log.topics.unread_parts import UnreadParts
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.unread import UnreadPlace
from kgroup.net.admin.unread_parts import BYTES_MAX, PartsAnswers, fetch_unread_parts
from kgroup.report.progress import count_progress

_MEGABYTE: Final = 1024 * 1024


def live_breakdown(
    cluster: Cluster, rows: Iterable[LagRow], inputs: LagInputs, retention_ms: int, *, quiet: bool
) -> Breakdown:
    """Fetch what is unread in these rows. Raises SourceError if the cluster does not answer."""
    ends = {
        _place(row): row.log_end_offset for row in rows if can_be_told(row) and row.log_end_offset is not None
    }
    with count_progress("reading what is unread", len(ends), quiet=quiet) as advance:
        answers = fetch_unread_parts(cluster, ends, advance)
    partitions = {(place.topic, place.partition) for place in answers.too_long}
    last_stable = cluster.last_stable_offsets({topic for topic, _ in partitions}) if partitions else {}
    remark = (
        f"{len(partitions)} partition{'' if len(partitions) == 1 else 's'} with more than"
        f" {BYTES_MAX // _MEGABYTE} MB unread: what these are made of is not fetched"
    )
    return Breakdown(
        inputs=inputs,
        retention_ms=retention_ms,
        find=partial(_found, answers),
        last_stable={place: last_stable[place] for place in partitions if place in last_stable},
        problems=answers.problems,
        remarks=(remark,) if partitions else (),
    )


def _place(row: LagRow) -> UnreadPlace:
    """Where what is unread begins: records before the log's start are gone."""
    assert row.current_offset is not None, "can_be_told is asked first"
    return UnreadPlace(row.topic, row.partition, max(row.current_offset, row.log_start_offset or 0))


def _found(answers: PartsAnswers, row: LagRow) -> UnreadParts | None:
    return answers.parts.get(_place(row))
