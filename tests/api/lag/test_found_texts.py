"""Findings on their way from executors."""

from kgroup.api.lag.found_texts import found_of, found_texts
from kgroup.history.groups.model import Group, GroupKind, GroupState, Member
from kgroup.history.timeline.model import Grade
from kgroup.lag.findings.model import Finding, FindingKind, Severity


def test_they_arrive_as_they_were_with_the_client_of_their_member() -> None:
    client_id = "caf\u00e9 \U0001f600\ud800"
    member = Member(member_id="m-1", instance_id=None, client_id=client_id, client_host="/h")
    group = Group(group_id="g\n\u202e", kind=GroupKind.CLASSIC, state=GroupState.STABLE, members=(member,))
    plain = Finding(
        kind=FindingKind.EMPTY_GROUP, group=group.group_id, grade=Grade.UNKNOWN, evidence="", try_this="look"
    )
    full = Finding(
        kind=FindingKind.STALLED_MEMBER,
        group=group.group_id,
        topic="t",
        partition=3,
        member_id="m-1",
        since_ms=1_700_000_000_000,
        grade=Grade.RECORDED,
        evidence="it stands",
        numbers={"lag": 1 << 60, "share": 0.1, "of": "t-3", "then": None},
        try_this="restart it",
        weight=Severity.HYGIENE,
    )
    texts = list(found_texts([plain, full], group))
    assert all(text.isascii() for text in texts)
    assert list(map(found_of, texts)) == [(plain, None), (full, client_id)]
