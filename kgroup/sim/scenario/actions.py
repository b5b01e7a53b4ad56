"""Faults in words: `kill c1 for 20s`, `cut c1 from coordinator for 30s`, `grow orders to 24`.

A line is a verb, its target, and pairs of `for DURATION`, `by AMOUNT`, `to PARTITIONS`, `from OTHER`. The
same words stand behind `--at` and in scenario files; `FORMS` is what their help shows.
"""

from dataclasses import dataclass
from enum import Enum
from typing import Final

from kgroup.durations import parse_duration
from kgroup.errors import InputError, nearest_or_all
from kgroup.sim.scenario.scenario import Fault, FaultKind

RESTART_MS: Final = 1_000
"""The length of a restart that does not give one."""
DURATION_MAX_MS: Final = 366 * 24 * 3_600_000
LOSS_PERCENT_MAX: Final = 50
"""Beyond that TCP hardly gets anything through: a cut shows that more clearly."""
_AMOUNT_MAX: Final = 1_000_000


class Target(Enum):
    """The kind of thing that a verb is about."""

    NONE = ""
    PROCESS = "MEMBER or node-N"
    MEMBER = "MEMBER"
    NODE = "node-N"
    TOPIC = "TOPIC"
    GROUP = "GROUP"


class Unit(Enum):
    """The meaning of the number after `by` or `to`."""

    DURATION = "DURATION"
    SIGNED_DURATION = "DURATION or -DURATION"
    FACTOR = "FACTOR"
    PERCENT = "PERCENT%"
    PARTITIONS = "PARTITIONS"
    BATCHES = "BATCHES"
    TOPICS = "TOPIC,..."


class Need(Enum):
    """Whether a fault has a `for`."""

    NEVER = 0
    MAY = 1
    MUST = 2


@dataclass(frozen=True, slots=True, kw_only=True)
class Form:
    """The words of a fault. `word` stands before the amount; `explained` ends the sentence "this fault ...".

    `default_ms`: the duration when `for` is left out.
    """

    kind: FaultKind
    target: Target
    duration: Need = Need.NEVER
    default_ms: int | None = None
    word: str | None = None
    unit: Unit | None = None
    other: bool = False
    explained: str

    def pattern(self, verb: str) -> str:
        """`slow MEMBER by FACTOR for DURATION`."""
        parts = [verb, self.target.value]
        if self.other:
            parts.append("[from OTHER]")
        if self.word is not None and self.unit is not None:
            parts.append(f"{self.word} {self.unit.value}")
        if self.duration is not Need.NEVER:
            parts.append("for DURATION" if self.duration is Need.MUST else "[for DURATION]")
        return " ".join(part for part in parts if part)


FORMS: Final = {
    "join": Form(kind=FaultKind.START, target=Target.MEMBER, explained="starts a member that is not running"),
    "start": Form(
        kind=FaultKind.START, target=Target.PROCESS, explained="starts a node or member that is not running"
    ),
    "leave": Form(
        kind=FaultKind.LEAVE,
        target=Target.MEMBER,
        explained="closes a member in order; it commits and leaves, unless it is static",
    ),
    "kill": Form(
        kind=FaultKind.KILL,
        target=Target.PROCESS,
        duration=Need.MAY,
        explained="ends a process without a word; it starts again when the duration is over",
    ),
    "restart": Form(
        kind=FaultKind.RESTART,
        target=Target.PROCESS,
        duration=Need.MAY,
        default_ms=RESTART_MS,
        explained="closes in order and starts again after the duration (1s)",
    ),
    "pause": Form(
        kind=FaultKind.PAUSE,
        target=Target.PROCESS,
        duration=Need.MUST,
        explained="lets a process stand still, as in a long garbage collection",
    ),
    "slow": Form(
        kind=FaultKind.SLOW,
        target=Target.MEMBER,
        duration=Need.MUST,
        word="by",
        unit=Unit.FACTOR,
        explained="makes each record take this many times as long",
    ),
    "cut": Form(
        kind=FaultKind.CUT,
        target=Target.PROCESS,
        duration=Need.MUST,
        other=True,
        explained="lets no packet through between it and OTHER, or everything else",
    ),
    "lose": Form(
        kind=FaultKind.LOSE,
        target=Target.NONE,
        duration=Need.MUST,
        word="by",
        unit=Unit.PERCENT,
        explained="loses that part of all packets",
    ),
    "delay": Form(
        kind=FaultKind.DELAY,
        target=Target.NONE,
        duration=Need.MUST,
        word="by",
        unit=Unit.DURATION,
        explained="makes every packet take that much longer",
    ),
    "duplicate": Form(
        kind=FaultKind.DUPLICATE,
        target=Target.NONE,
        duration=Need.MUST,
        word="by",
        unit=Unit.PERCENT,
        explained="sends that part of all requests twice",
    ),
    "slow-disk": Form(
        kind=FaultKind.SLOW_DISK,
        target=Target.NODE,
        duration=Need.MUST,
        word="by",
        unit=Unit.DURATION,
        explained="makes each append on a node take that long",
    ),
    "skew": Form(
        kind=FaultKind.SKEW,
        target=Target.PROCESS,
        duration=Need.MAY,
        word="by",
        unit=Unit.SIGNED_DURATION,
        explained="makes its clock jump, back with a minus, and back again after the duration",
    ),
    "create": Form(
        kind=FaultKind.CREATE,
        target=Target.TOPIC,
        explained="creates a topic whose start is later or never",
    ),
    "grow": Form(
        kind=FaultKind.GROW,
        target=Target.TOPIC,
        word="to",
        unit=Unit.PARTITIONS,
        explained="gives a topic partitions up to that number",
    ),
    "narrow": Form(
        kind=FaultKind.NARROW,
        target=Target.MEMBER,
        duration=Need.MUST,
        explained="lets it subscribe to the first of its topics alone",
    ),
    "subscribe": Form(
        kind=FaultKind.SUBSCRIBE,
        target=Target.MEMBER,
        duration=Need.MAY,
        word="to",
        unit=Unit.TOPICS,
        explained="changes its subscription between two polls; a new process has its own again",
    ),
    "unsubscribe": Form(
        kind=FaultKind.UNSUBSCRIBE,
        target=Target.MEMBER,
        duration=Need.MAY,
        explained="ends its subscription between two polls, so that it leaves its group and reads nothing",
    ),
    "lag-replicas": Form(
        kind=FaultKind.LAG_REPLICAS,
        target=Target.TOPIC,
        duration=Need.MUST,
        word="by",
        unit=Unit.DURATION,
        explained="holds the topic's high watermark back: its followers have each record that much later, and"
        " nobody can read it before",
    ),
    "fail-appends": Form(
        kind=FaultKind.FAIL_APPENDS,
        target=Target.TOPIC,
        duration=Need.MUST,
        word="by",
        unit=Unit.PERCENT,
        explained="lets that part of the appends to a topic fail; its producers try again",
    ),
    "fail-disk": Form(
        kind=FaultKind.FAIL_DISK,
        target=Target.NONE,
        duration=Need.MUST,
        word="by",
        unit=Unit.PERCENT,
        explained="lets that part of the coordinators' appends fail",
    ),
    "cut-power": Form(
        kind=FaultKind.CUT_POWER,
        target=Target.NONE,
        explained="ends all nodes in the middle of the next append; they start again from their logs",
    ),
    "lose-writes": Form(
        kind=FaultKind.LOSE_WRITES,
        target=Target.GROUP,
        word="by",
        unit=Unit.BATCHES,
        explained="ends all nodes, and the last batches of its log were never written: the disk had lied",
    ),
    "move": Form(
        kind=FaultKind.MOVE, target=Target.GROUP, explained="makes another node the group's coordinator"
    ),
}
"""Verb -> form. `node-N` may also be the word `coordinator`."""


_AMOUNTS: Final = {
    form.kind: (form.word, form.unit) for form in FORMS.values() if form.word is not None and form.unit
}


def amount_text(kind: FaultKind, amount: int) -> str:
    """A fault's amount in the words that `parse_fault` takes: `to 6`, `by 20%`, `by 1.5s`."""
    word, unit = _AMOUNTS.get(kind, ("by", Unit.BATCHES))
    match unit:
        case Unit.DURATION | Unit.SIGNED_DURATION:
            return f"{word} {amount / 1000:g}s"
        case Unit.PERCENT:
            return f"{word} {amount}%"
        case Unit.FACTOR | Unit.PARTITIONS | Unit.BATCHES | Unit.TOPICS:
            return f"{word} {amount}"


def parse_fault(at: str, action: str) -> Fault:
    """The fault that `action` describes, at the duration `at` after the start.

    Raises InputError that names what is wrong; whether the targets exist is for `check_scenario` to say.
    """
    at_ms = parse_duration(at)
    if at_ms is None or at_ms > DURATION_MAX_MS:
        raise InputError(f"'{at}' is not a time after the start, like 10s or 1m30s")
    try:
        return _parse(at_ms, action.split())
    except InputError as error:
        raise InputError(f"'{action}': {error}") from None


def _parse(at_ms: int, words: list[str]) -> Fault:
    verb, *rest = words or [""]
    form = FORMS.get(verb)
    if form is None:
        raise InputError(f"there is no fault '{verb}': {nearest_or_all(verb, FORMS)}")
    said = form.pattern(verb)
    target = ""
    if form.target is not Target.NONE:
        if not rest:
            raise InputError(f"say {said}")
        target, *rest = rest
    pairs = _pairs(form, rest, said)
    duration_ms = form.default_ms
    if "for" in pairs:
        duration_ms = _duration(pairs["for"])
    elif form.duration is Need.MUST:
        raise InputError(f"for how long? {said}")
    amount: int | None = None
    topics: tuple[str, ...] = ()
    if form.word is not None and form.unit is not None:
        if form.word not in pairs:
            what = "what" if form.unit is Unit.TOPICS else "how much"
            raise InputError(f"{form.word} {what}? {said}")
        if form.unit is Unit.TOPICS:
            topics = _topics(pairs[form.word])
        else:
            amount = _amount(pairs[form.word], form.unit)
    return Fault(
        at_ms=at_ms,
        kind=form.kind,
        target=target,
        duration_ms=duration_ms,
        amount=amount,
        other=pairs.get("from"),
        topics=topics,
    )


def _pairs(form: Form, rest: list[str], said: str) -> dict[str, str]:
    allowed = {
        "for": form.duration is not Need.NEVER,
        "from": form.other,
        "by": form.word == "by",
        "to": form.word == "to",
    }
    pairs: dict[str, str] = {}
    for position in range(0, len(rest), 2):
        word = rest[position]
        if not allowed.get(word) or word in pairs or position + 1 == len(rest):
            raise InputError(f"'{word}' does not belong there; say {said}")
        pairs[word] = rest[position + 1]
    return pairs


def _topics(text: str) -> tuple[str, ...]:
    topics = tuple(text.split(","))
    if "" in topics or len(set(topics)) < len(topics):
        raise InputError(f"'{text}' is not a list of different topics, like orders,payments")
    return topics


def _duration(text: str) -> int:
    duration_ms = parse_duration(text)
    if not duration_ms or duration_ms > DURATION_MAX_MS:
        raise InputError(f"'{text}' is not a duration, like 20s or 5m")
    return duration_ms


def _amount(text: str, unit: Unit) -> int:
    match unit:
        case Unit.DURATION:
            return _duration(text)
        case Unit.SIGNED_DURATION:
            return -_duration(text[1:]) if text.startswith("-") else _duration(text.removeprefix("+"))
        case Unit.PERCENT:
            return _number(text.removesuffix("%"), LOSS_PERCENT_MAX, "percent")
        case Unit.FACTOR:
            return _number(text.removesuffix("x"), _AMOUNT_MAX, "times")
        case Unit.PARTITIONS:
            return _number(text, _AMOUNT_MAX, "partitions")
        case Unit.BATCHES:
            return _number(text, _AMOUNT_MAX, "batches")
        case Unit.TOPICS:
            raise AssertionError(unit)


def _number(text: str, most: int, unit: str) -> int:
    number = int(text) if text.isascii() and text.isdigit() and len(text) < 10 else 0
    if not 1 <= number <= most:
        raise InputError(f"'{text}' is not a number of {unit} from 1 to {most}")
    return number
