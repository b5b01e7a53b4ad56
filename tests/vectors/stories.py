"""A capture's `story.json`: do replay and `lag-report --stuck` find what was done, and accuse nobody else?

Each condition that a log can show is a case; one that it cannot show is printed as held, with the reason,
and not counted. Each group is three more cases: nothing that replay, or `--stuck` as of the capture's end,
grades `recorded` or `inferred` may be without an event that made it; and the statuses of its partitions may
not contradict what is found.
"""

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from kgroup.errors import KgroupError
from kgroup.history.timeline.model import CauseKind, Grade, Pattern
from tests.vectors.case import Case, VectorError
from tests.vectors.story import SLOW_MS, HeldError, Said, Story, is_true, read_story
from tests.vectors.story_findings import JUDGES as LAG_JUDGES
from tests.vectors.story_findings import Found, false_findings, find_in, lag_failure
from tests.vectors.story_statuses import contradictions

K = CauseKind
PATTERNS_NEED = {
    "rebalance-storm": ("rebalance-storm",),
    "flapping-member": ("rebalance-storm", "max-poll-interval-exceeded"),
    "members-oscillate": ("autoscaler-flapping",),
    "instance-id-duel": ("one-instance-id-used-twice",),
}


def cases(path: Path) -> Iterator[Case]:
    folders = sorted(story.parent for story in path.rglob("story.json"))
    if not folders:
        raise VectorError("no story.json here or below")
    for folder in folders:
        try:
            story = read_story(folder)
            yield from story_cases(story, find_in(folder, story.stopped_ms))
        except (KgroupError, ValueError, KeyError) as error:
            yield Case(str(folder), f"{type(error).__name__}: {error}")


def story_cases(story: Story, answers: Found) -> Iterator[Case]:
    said = list(story.said())
    for condition in story.truth:
        name = f"{story.name} {condition['group']} {condition['condition']}"
        try:
            failure = condition_failure(
                story, condition, [s for s in said if s.group == condition["group"]], answers
            )
        except HeldError as held:
            print(f"held   {name}: {held}")
            continue
        print(f"judged {name}: {'found' if failure is None else 'NOT FOUND'}")
        yield Case(name, failure)
    for group, timeline in story.timelines.items():
        wrong = [s for s in said if s.group == group and s.graded and is_true(story, s) is False]
        patterns = [p for p in timeline.patterns if not is_pattern_true(story, group, p)]
        accused = [f"{s.cause.kind} at {s.at_ms}: {s.cause.evidence}" for s in wrong]
        accused += [f"{p.name}: {p.evidence}" for p in patterns]
        yield Case(f"{story.name} {group} accused of nothing it did not do", "; ".join(accused) or None)
    for group, false in false_findings(story, answers):
        accused = [f"{finding.kind}: {finding.evidence}" for finding in false]
        yield Case(f"{story.name} {group} found guilty of nothing it did not do", "; ".join(accused) or None)
    for group, against in contradictions(answers):
        yield Case(f"{story.name} {group} has statuses that fit its findings", "; ".join(against) or None)


def is_pattern_true(story: Story, group: str, pattern: Pattern) -> bool:
    needed = PATTERNS_NEED.get(pattern.name)
    if needed is None:
        return pattern.name == "never-commits"  # a finding about lag, judged with those
    return any(t["group"] == group and t["condition"] in needed for t in story.truth)


def condition_failure(
    story: Story, condition: dict[str, Any], said: list[Said], answers: Found
) -> str | None:
    name = condition["condition"]
    if name in LAG_JUDGES:
        return lag_failure(story, condition, answers)
    if name not in JUDGES:
        raise HeldError("no rule for this condition")
    if condition["group"] not in story.timelines:
        raise HeldError("the group is not in the log")
    failure = JUDGES[name](story, condition, said)
    if failure is not None and story.timelines[condition["group"]].is_cut:
        raise HeldError(f"records that may have shown it are gone (compaction): {failure}")
    return failure


def pattern(name: str) -> Callable[[Story, dict[str, Any], list[Said]], str | None]:
    def judge(story: Story, condition: dict[str, Any], said: list[Said]) -> str | None:
        patterns = [p for p in story.timelines[condition["group"]].patterns if p.name == name]
        hits = [
            p
            for p in patterns
            if p.from_ms and p.to_ms and p.from_ms <= condition["to_ms"] and p.to_ms >= condition["from_ms"]
        ]
        return None if hits else f"no {name} in that time"

    return judge


def lost_member(story: Story, condition: dict[str, Any], said: list[Said]) -> str | None:
    handle = condition["handle"]
    about = [
        s
        for s in in_time(said, condition)
        if any(client.startswith(handle) for client in s.client_ids)
        and s.cause.kind in (K.SESSION_EXPIRED, K.MEMBER_GONE, K.LEAVE, K.REBALANCE_TIMEOUT)
    ]
    if any(s.cause.kind is K.SESSION_EXPIRED for s in about):
        return None
    for s in about:
        if s.cause.grade is Grade.UNKNOWN and K.SESSION_EXPIRED in s.cause.alternatives:
            raise HeldError(f"it is named as gone, and how is not in the log: {s.cause.evidence}")
    return f"{handle} is not among those whose session expired: {[str(s.cause.kind) for s in about]}"


def static_restart(story: Story, condition: dict[str, Any], said: list[Said]) -> str | None:
    generations = story.timelines[condition["group"]].generations
    if not any(member.instance_id for g in generations for member in g.roster.members):
        raise HeldError("its records have no instance ids (value versions before 3)")
    first, last = condition["from_ms"], condition["to_ms"] + 5_000
    if not any(first <= at_ms <= last for at_ms in story.group_records[condition["group"]]):
        raise HeldError("the broker logged nothing: 2.4 writes a new member id only at the next rebalance")
    hits = of_kinds(in_time(said, condition), K.STATIC_RESTART)
    named = [s for s in hits if condition["instance"] in s.cause.evidence]
    return None if named else f"no new member id for {condition['instance']}"


def migrated(story: Story, condition: dict[str, Any], said: list[Said]) -> str | None:
    first, second = condition["condition"].split("-to-")
    hits = of_kinds(in_time(said, condition), K.PROTOCOL_MIGRATED)
    right = [s for s in hits if s.cause.evidence.startswith(f"the {first} group became a {second}")]
    return None if right else "no change of protocol"


def grown(story: Story, condition: dict[str, Any], said: list[Said]) -> str | None:
    hits = of_kinds(in_time(said, condition), K.TOPIC_GREW)
    return None if any(condition["topic"] in s.cause.evidence for s in hits) else "no growth named"


def topic_deleted(story: Story, condition: dict[str, Any], said: list[Said]) -> str | None:
    hits = of_kinds(in_time(said, condition), K.TOPIC_DELETED)
    hits += allowing(in_time(said, condition), K.TOPIC_DELETED)
    if any(condition["topic"] in s.topics for s in hits):
        return None
    if any(str(e.get("version", "")).startswith("0.10") for e in story.of(None, "broker-started")):
        raise HeldError("brokers of 0.10 write no tombstones for a deleted topic")
    return f"offsets of {condition['topic']} are not named as removed"


def removed(*kinds: CauseKind) -> Callable[[Story, dict[str, Any], list[Said]], str | None]:
    """The removal is found; by whom may be unknown, if the true answer is among the possible ones."""

    def judge(story: Story, condition: dict[str, Any], said: list[Said]) -> str | None:
        later = [s for s in said if s.at_ms is None or s.at_ms >= condition["from_ms"] - 2_000]
        hits = of_kinds(later, *kinds) + [s for kind in kinds for s in allowing(later, kind)]
        return None if hits else "no removal named"

    return judge


def simply(kind: CauseKind) -> Callable[[Story, dict[str, Any], list[Said]], str | None]:
    def judge(story: Story, condition: dict[str, Any], said: list[Said]) -> str | None:
        return None if of_kinds(in_time(said, condition), kind) else f"no {kind} in that time"

    return judge


def in_time(said: list[Said], condition: dict[str, Any]) -> list[Said]:
    first, last = condition["from_ms"] - 2_000, condition["to_ms"] + SLOW_MS
    return [s for s in said if s.at_ms is None or s.cause.kind is K.NO_MEMBERSHIP or first <= s.at_ms <= last]


def of_kinds(said: list[Said], *kinds: CauseKind) -> list[Said]:
    return [s for s in said if s.cause.kind in kinds]


def allowing(said: list[Said], kind: CauseKind) -> list[Said]:
    return [s for s in said if kind in s.cause.alternatives]


JUDGES: dict[str, Callable[[Story, dict[str, Any], list[Said]], str | None]] = {
    "rebalance-storm": pattern("rebalance-storm"),
    "autoscaler-flapping": pattern("members-oscillate"),
    "one-instance-id-used-twice": pattern("instance-id-duel"),
    "max-poll-interval-exceeded": simply(K.POLL_INTERVAL_EXCEEDED),
    "all-members-killed": simply(K.SESSION_EXPIRED),
    "member-lost-by-session-timeout": lost_member,
    "static-member-replaced": static_restart,
    "static-member-fenced": static_restart,
    "rewind-by-member": simply(K.REWIND),
    "rewind-by-admin": simply(K.OFFSET_RESET),
    "no-membership": simply(K.NO_MEMBERSHIP),
    "aborted-transaction": simply(K.TRANSACTION_ABORTED),
    "undecodable-member-metadata": simply(K.UNREADABLE_MEMBER),
    "classic-to-consumer": migrated,
    "consumer-to-classic": migrated,
    "partitions-added": grown,
    "topic-deleted": topic_deleted,
    "deleted-by-admin": removed(K.GROUP_DELETED),
    "expires": removed(K.GROUP_EXPIRED),
}
