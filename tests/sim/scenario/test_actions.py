import pytest

from kgroup.errors import InputError
from kgroup.sim.scenario.actions import FORMS, amount_text, parse_fault
from kgroup.sim.scenario.scenario import Fault, FaultKind

K = FaultKind


@pytest.mark.parametrize(
    ("action", "fault"),
    [
        ("kill c1", Fault(at_ms=10_000, kind=K.KILL, target="c1")),
        ("kill c1 for 20s", Fault(at_ms=10_000, kind=K.KILL, target="c1", duration_ms=20_000)),
        ("join c4", Fault(at_ms=10_000, kind=K.START, target="c4")),
        ("start node-2", Fault(at_ms=10_000, kind=K.START, target="node-2")),
        ("leave c1", Fault(at_ms=10_000, kind=K.LEAVE, target="c1")),
        ("restart c1", Fault(at_ms=10_000, kind=K.RESTART, target="c1", duration_ms=1_000)),
        ("pause c1 for 1m30s", Fault(at_ms=10_000, kind=K.PAUSE, target="c1", duration_ms=90_000)),
        ("slow c1 by 10 for 5s", Fault(at_ms=10_000, kind=K.SLOW, target="c1", duration_ms=5_000, amount=10)),
        (
            "slow c1 for 5s by 10x",
            Fault(at_ms=10_000, kind=K.SLOW, target="c1", duration_ms=5_000, amount=10),
        ),
        (
            "cut c1 from coordinator for 30s",
            Fault(at_ms=10_000, kind=K.CUT, target="c1", duration_ms=30_000, other="coordinator"),
        ),
        ("cut node-1 for 30s", Fault(at_ms=10_000, kind=K.CUT, target="node-1", duration_ms=30_000)),
        ("lose by 20% for 5s", Fault(at_ms=10_000, kind=K.LOSE, duration_ms=5_000, amount=20)),
        ("delay by 100ms for 5s", Fault(at_ms=10_000, kind=K.DELAY, duration_ms=5_000, amount=100)),
        ("duplicate by 5% for 5s", Fault(at_ms=10_000, kind=K.DUPLICATE, duration_ms=5_000, amount=5)),
        (
            "slow-disk node-1 by 200ms for 5s",
            Fault(at_ms=10_000, kind=K.SLOW_DISK, target="node-1", duration_ms=5_000, amount=200),
        ),
        ("skew c1 by -5s", Fault(at_ms=10_000, kind=K.SKEW, target="c1", amount=-5_000)),
        (
            "skew c1 by +5s for 1m",
            Fault(at_ms=10_000, kind=K.SKEW, target="c1", duration_ms=60_000, amount=5_000),
        ),
        ("grow orders to 24", Fault(at_ms=10_000, kind=K.GROW, target="orders", amount=24)),
        ("create orders", Fault(at_ms=10_000, kind=K.CREATE, target="orders")),
        ("unsubscribe c1", Fault(at_ms=10_000, kind=K.UNSUBSCRIBE, target="c1")),
        (
            "subscribe c1 to a,b for 5s",
            Fault(at_ms=10_000, kind=K.SUBSCRIBE, target="c1", duration_ms=5_000, topics=("a", "b")),
        ),
        ("move g", Fault(at_ms=10_000, kind=K.MOVE, target="g")),
    ],
)
def test_a_fault_in_words(action, fault):
    assert parse_fault("10s", action) == fault


@pytest.mark.parametrize(
    ("action", "said"),
    [
        ("grow orders to 6", "to 6"),
        ("slow c1 by 10x for 5s", "by 10"),
        ("lose by 20% for 5s", "by 20%"),
        ("delay by 100ms for 5s", "by 0.1s"),
        ("skew c1 by -5s", "by -5s"),
        ("lose-writes g by 2", "by 2"),
    ],
)
def test_an_amount_is_said_in_words_that_can_be_given(action, said):
    fault = parse_fault("10s", action)
    assert amount_text(fault.kind, fault.amount) == said


def test_every_kind_of_fault_can_be_said():
    assert {form.kind for form in FORMS.values()} == set(FaultKind)


@pytest.mark.parametrize("at", ["", "10", "soon", "-5s", "9999w", "1y"])
def test_a_time_that_is_none(at):
    with pytest.raises(InputError, match="is not a time after the start"):
        parse_fault(at, "kill c1")


@pytest.mark.parametrize(
    ("action", "why"),
    [
        ("", "there is no fault ''"),
        ("kil c1", "there is no fault 'kil': did you mean kill?"),
        ("zzz", "there is no fault 'zzz': there are join, start"),
        ("kill", "say kill MEMBER or node-N \\[for DURATION\\]"),
        ("kill c1 c2", "'c2' does not belong there; say kill"),
        ("kill c1 for", "'for' does not belong there"),
        ("kill c1 for long", "'long' is not a duration"),
        ("kill c1 for 0s", "'0s' is not a duration"),
        ("kill c1 for 1s for 2s", "'for' does not belong there"),
        ("leave c1 for 10s", "'for' does not belong there; say leave MEMBER"),
        ("pause c1", "for how long\\? pause MEMBER or node-N for DURATION"),
        ("slow c1 for 5s", "by how much\\? slow MEMBER by FACTOR for DURATION"),
        ("slow c1 by much for 5s", "'much' is not a number of times from 1 to"),
        ("slow c1 by 0 for 5s", "'0' is not a number of times"),
        ("slow c1 by " + "9" * 5000 + " for 5s", "is not a number of times"),
        ("lose by 80% for 5s", "'80' is not a number of percent from 1 to 50"),
        ("lose c1 by 8% for 5s", "'c1' does not belong there"),
        ("grow orders", "to how much\\? grow TOPIC to PARTITIONS"),
        ("skew c1 by --5s", "'-5s' is not a duration"),
    ],
)
def test_words_that_make_no_sense_are_refused_with_what_to_say(action, why):
    with pytest.raises(InputError, match=why):
        parse_fault("10s", action)
