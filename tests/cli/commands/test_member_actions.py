"""`kgroup join --at`: what a user does at a time, in words."""

from typing import Any

import pytest

from kgroup.cli.narrate.member_actions import FORMS, parse_act, parse_partitions
from kgroup.errors import InputError


class Calls:
    """Keeps what is called, for any name."""

    def __init__(self) -> None:
        self.calls: list[tuple[Any, ...]] = []

    def __getattr__(self, name: str) -> Any:
        return lambda *arguments: self.calls.append((name, *arguments))


@pytest.mark.parametrize(
    ("text", "at_ms", "call"),
    [
        ("10s unsubscribe", 10_000, ("unsubscribe",)),
        ("500ms subscribe orders bills", 500, ("subscribe", ["orders", "bills"])),
        ("1m30s assign orders:0,2 bills:1", 90_000, ("assign", (("orders", 0), ("orders", 2), ("bills", 1)))),
        ("10s pause orders:0", 10_000, ("pause", (("orders", 0),))),
        ("10s  resume  orders:0,1", 10_000, ("resume", (("orders", 0), ("orders", 1)))),
        ("10s seek orders:1 to 42", 10_000, ("seek", ("orders", 1), 42)),
        ("10s rebalance", 10_000, ("enforce_rebalance",)),
    ],
)
def test_an_act_in_words(text: str, at_ms: int, call: tuple[Any, ...]) -> None:
    act = parse_act(text)
    member: Any = Calls()
    act.act(member)
    assert (act.at_ms, member.calls) == (at_ms, [call])


def test_every_form_has_a_line_above() -> None:
    assert set(FORMS) == {"subscribe", "unsubscribe", "assign", "pause", "resume", "seek", "rebalance"}


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("unsubscribe", "when, and then what"),
        ("soon unsubscribe", "not a duration"),
        ("10s explode", "there is no 'explode'"),
        ("10s unsubscribe orders", "say unsubscribe"),
        ("10s subscribe", "say subscribe TOPIC"),
        ("10s pause orders", "is not TOPIC:PARTITIONS"),
        ("10s pause orders:", "is not TOPIC:PARTITIONS"),
        ("10s pause :0", "is not TOPIC:PARTITIONS"),
        ("10s pause orders:-1", "is not TOPIC:PARTITIONS"),
        ("10s assign orders:99999999999", "is not TOPIC:PARTITIONS"),
        ("10s seek orders:0,1 to 3", "say seek"),
        ("10s seek orders:0 at 3", "say seek"),
        ("10s seek orders:0 to -3", "say seek"),
        ("10s seek orders:0 to 99999999999999999999", "say seek"),
    ],
)
def test_what_cannot_be_done_is_told(text: str, why: str) -> None:
    with pytest.raises(InputError, match=why):
        parse_act(text)


def test_a_topic_may_have_a_colon_in_front_of_its_partitions_only() -> None:
    assert parse_partitions(["a.b-c:3"]) == (("a.b-c", 3),)
