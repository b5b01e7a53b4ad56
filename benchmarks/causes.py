"""How well replay names causes: `python -m benchmarks.causes [DIR]`, on captures with a diary (`story.json`).

Precision: of the causes graded `recorded` or `inferred`, how many the diary bears out. Recall: of what the
diary did to members whom the log shows, how much is named so; `unknown` is what the log leaves open, and
counts as not named.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from tabulate import tabulate

from kgroup.group.timeline_model import CauseKind
from tests.vectors.story import SLOW_MS, Said, Story, client_of, is_true, read_story

K = CauseKind
_GONE = (K.LEAVE, K.SESSION_EXPIRED, K.MEMBER_GONE, K.REBALANCE_TIMEOUT)
# What an event of the diary should be named, and the causes in which the log may show it at all.
_EXPECTED: dict[str, tuple[tuple[CauseKind, ...], tuple[CauseKind, ...]]] = {
    "stop-member": ((K.LEAVE,), _GONE),
    "kill-member": ((K.SESSION_EXPIRED,), _GONE),
    "started": ((K.JOIN, K.FIRST_JOIN), (K.JOIN, K.FIRST_JOIN)),
}


def score(folder: Path) -> str:
    """The table for all captures under `folder`."""
    true: Counter[CauseKind] = Counter()
    false: Counter[CauseKind] = Counter()
    unjudged: Counter[CauseKind] = Counter()
    unknown: Counter[CauseKind] = Counter()
    named: Counter[CauseKind] = Counter()
    happened: Counter[CauseKind] = Counter()
    for story_file in sorted(folder.rglob("story.json")):
        story = read_story(story_file.parent)
        said = list(story.said())
        for one in said:
            verdict = is_true(story, one) if one.graded else None
            tally = true if verdict else unknown if not one.graded else unjudged if verdict is None else false
            tally[one.cause.kind] += 1
        for kind, hit in _happenings(story, said):
            happened[kind] += 1
            named[kind] += hit
    rows = []
    for kind in sorted({*true, *false, *unknown, *unjudged}):
        graded = true[kind] + false[kind]
        rows.append(
            (
                kind.value,
                true[kind],
                false[kind],
                true[kind] / graded if graded else None,
                f"{named[kind]} of {happened[kind]}" if happened[kind] else None,
                named[kind] / happened[kind] if happened[kind] else None,
                unknown[kind] or None,
                unjudged[kind] or None,
            )
        )
    headers = ("cause", "right", "wrong", "precision", "named", "recall", "left open", "not in the diary")
    return tabulate(rows, headers=headers, floatfmt=".2f", missingval="-")


def _happenings(story: Story, said: list[Said]) -> Iterator[tuple[CauseKind, bool]]:
    """What was done and shows in the log, and whether it was named."""
    for what, (right, visible) in _EXPECTED.items():
        for event in story.events:
            if event["what"] != what or not _is_own(story, event):
                continue
            about = [s for s in said if s.cause.kind in visible and _is_about(story, s, event)]
            if about:
                yield right[0], any(s.cause.kind in right for s in about)
    for condition, kind in _CONDITIONS.items():
        for truth in story.truth:
            timeline = story.timelines.get(truth["group"])
            if truth["condition"] == condition and timeline is not None and not timeline.is_cut:
                hits = [s for s in said if s.group == truth["group"] and s.cause.kind is kind]
                yield kind, bool(hits)


_CONDITIONS = {
    "partitions-added": K.TOPIC_GREW,
    "topic-deleted": K.TOPIC_DELETED,
    "deleted-by-admin": K.GROUP_DELETED,
    "expires": K.GROUP_EXPIRED,
    "rewind-by-member": K.REWIND,
    "rewind-by-admin": K.OFFSET_RESET,
    "static-member-replaced": K.STATIC_RESTART,
    "static-member-fenced": K.STATIC_RESTART,
    "no-membership": K.NO_MEMBERSHIP,
    "aborted-transaction": K.TRANSACTION_ABORTED,
    "undecodable-member-metadata": K.UNREADABLE_MEMBER,
    "classic-to-consumer": K.PROTOCOL_MIGRATED,
    "consumer-to-classic": K.PROTOCOL_MIGRATED,
}


def _is_own(story: Story, event: dict[str, Any]) -> bool:
    """Whether the driver ran the member itself, and it subscribed."""
    return any(
        start["handle"] == event["handle"] and start.get("topics")
        for start in story.of(event["group"], "start-member")
    )


def _is_about(story: Story, said: Said, event: dict[str, Any]) -> bool:
    if (
        said.group != event["group"]
        or said.at_ms is None
        or not -1_500 <= said.at_ms - event["t"] <= SLOW_MS // 2
    ):
        return False
    return any(client.startswith(client_of(story, event)) for client in said.client_ids)


def main() -> None:
    """Read the command line and print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.causes", description=__doc__)
    parser.add_argument("folder", nargs="?", type=Path, default=Path("fixtures"), metavar="DIR")
    print(score(parser.parse_args().folder))


if __name__ == "__main__":
    main()
