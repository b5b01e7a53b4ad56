"""The score of replay's causes: `python -m benchmarks.causes [DIR]`, on captures with a diary (`story.json`).

Precision: of the causes graded `recorded` or `inferred`, how many the diary bears out. Recall: of what the
diary did to members whom the log shows, how much is named so; `unknown` is what the log leaves open, and
counts as not named.
"""

import argparse
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from tabulate import tabulate

from kgroup.history.timeline.model import CauseKind
from tests.vectors.story import SLOW_MS, Said, Story, client_of, is_true, read_story

K = CauseKind
_GONE = (K.LEAVE, K.SESSION_EXPIRED, K.MEMBER_GONE, K.REBALANCE_TIMEOUT)
# What an event of the diary should be named, and the causes in which the log may show it at all.
_EXPECTED: dict[str, tuple[tuple[CauseKind, ...], tuple[CauseKind, ...]]] = {
    "stop-member": ((K.LEAVE,), _GONE),
    "kill-member": ((K.SESSION_EXPIRED,), _GONE),
    "started": ((K.JOIN, K.FIRST_JOIN), (K.JOIN, K.FIRST_JOIN)),
}


@dataclass(frozen=True, slots=True)
class Score:
    """Numbers of causes by kind.

    `right` and `wrong` are graded causes that the diary bears out or not, `unjudged` those it says nothing
    of, `left_open` those without a grade. `happened` is what the diary did, `named` how much of it was named.
    """

    right: Counter[CauseKind] = field(default_factory=Counter)
    wrong: Counter[CauseKind] = field(default_factory=Counter)
    unjudged: Counter[CauseKind] = field(default_factory=Counter)
    left_open: Counter[CauseKind] = field(default_factory=Counter)
    happened: Counter[CauseKind] = field(default_factory=Counter)
    named: Counter[CauseKind] = field(default_factory=Counter)

    @property
    def precision(self) -> float:
        """The share of right ones among the graded causes that the diary judges."""
        return self.right.total() / max(self.right.total() + self.wrong.total(), 1)


def score(folder: Path) -> Score:
    """The numbers of all captures under `folder`."""
    numbers = Score()
    for story_file in sorted(folder.rglob("story.json")):
        story = read_story(story_file.parent)
        said = list(story.said())
        for one in said:
            _tally(numbers, story, one)[one.cause.kind] += 1
        for kind, hit in _happenings(story, said):
            numbers.happened[kind] += 1
            numbers.named[kind] += hit
    return numbers


def _tally(numbers: Score, story: Story, said: Said) -> Counter[CauseKind]:
    if not said.graded:
        return numbers.left_open
    verdict = is_true(story, said)
    if verdict is None:
        return numbers.unjudged
    return numbers.right if verdict else numbers.wrong


def table(numbers: Score) -> str:
    """A line for each cause."""
    rows = []
    for kind in sorted({*numbers.right, *numbers.wrong, *numbers.left_open, *numbers.unjudged}):
        graded = numbers.right[kind] + numbers.wrong[kind]
        happened = numbers.happened[kind]
        rows.append(
            (
                kind.value,
                numbers.right[kind],
                numbers.wrong[kind],
                numbers.right[kind] / graded if graded else None,
                f"{numbers.named[kind]} of {happened}" if happened else None,
                numbers.named[kind] / happened if happened else None,
                numbers.left_open[kind] or None,
                numbers.unjudged[kind] or None,
            )
        )
    headers = ("cause", "right", "wrong", "precision", "named", "recall", "left open", "not in the diary")
    return tabulate(rows, headers=headers, floatfmt=".2f", missingval="-")


def _happenings(story: Story, said: list[Said]) -> Iterator[tuple[CauseKind, bool]]:
    """Events that were done and show in the log, and whether each was named."""
    for happening, (right, visible) in _EXPECTED.items():
        for event in story.events:
            if event["what"] != happening or not _is_own(story, event):
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
    print(table(score(parser.parse_args().folder)))


if __name__ == "__main__":
    main()
