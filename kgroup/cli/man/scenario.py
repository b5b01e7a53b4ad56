"""The man page `kgroup-scenario(5)`, made from the keys and faults that the scenario reader knows."""

from collections.abc import Iterator, Mapping
from typing import Final

from kgroup.cli.man.roff import as_is, definitions, head, page, paragraphs, text, under
from kgroup.sim.scenario.actions import FORMS
from kgroup.sim.scenario.keys import (
    CHAOS_KEYS,
    MEMBER_KEYS,
    MEMBERS_KEYS,
    NETWORK_KEYS,
    SCENARIO_KEYS,
    TOPIC_KEYS,
    ZOOKEEPER_KEYS,
    Key,
)

NAME: Final = "kgroup-scenario.5"
EXAMPLE: Final = """\
about = "One of three members pauses for longer than its session."
duration = "2m"
faults = ["40s pause c2 for 20s", "90s kill coordinator for 10s"]

[topics]
orders = { partitions = 6, records_per_s = 120 }
payments = 3

[[members]]
name = "c"
count = 3
every = "500ms"
assignors = ["cooperative-sticky"]
session_timeout = "10s"

[network]
latency = ["1ms", "20ms"]

[brokers]
"group.initial.rebalance.delay.ms" = 0
"""
_DESCRIPTION: Final = (
    "A scenario says what kgroup simulate plays: topics, members, and what is done to them. It is a file in"
    " TOML; one that comes with kgroup is called by its name, any other by its path. Durations are text, like"
    " '250ms', '90s' or '1m30s', and are counted from the start. A key or a value that makes no sense is an"
    " error which names its place in the file.",
    "In parentheses is what holds when a key is not there.",
)
_FAULTS: Final = (
    "faults is a list of texts, each a time and a fault, as for --at. A MEMBER is a name, a node is node-1,"
    " node-2, ... or coordinator: the node that coordinates the group of the first member when the fault"
    " strikes. With a duration the fault is undone after it; none lasts longer than the scenario plays.",
)


def scenario_page() -> str:
    """The page in roff."""
    faults = (
        (f"\\fB{text(form.pattern(verb))}\\fR", f"This {form.explained}.") for verb, form in FORMS.items()
    )
    return page(
        [
            *head("kgroup-scenario", "what kgroup simulate plays", section=5),
            *under("DESCRIPTION", paragraphs(_DESCRIPTION)),
            *_keys("KEYS", None, SCENARIO_KEYS),
            *_keys(
                "TOPICS",
                "The table topics has topics by name: a number of partitions, or a table.",
                TOPIC_KEYS,
            ),
            *_keys(
                "MEMBERS",
                "members is a list of tables, each for one member, or for several that are alike.",
                {**MEMBERS_KEYS, **MEMBER_KEYS},
            ),
            *under("FAULTS", [*paragraphs(_FAULTS), *definitions(faults)]),
            *_keys("CHAOS", "The table chaos adds faults that are drawn from the seed.", CHAOS_KEYS),
            *_keys("NETWORK", "The table network says how packets travel.", NETWORK_KEYS),
            *_keys(
                "ZOOKEEPER",
                "The table zookeeper is for --compare zookeeper: what Kafka 0.8's consumer obeys.",
                ZOOKEEPER_KEYS,
            ),
            *under(
                "BROKERS",
                paragraphs(
                    ["The table brokers has broker properties, as kgroup serve --property takes them."]
                ),
            ),
            *under("EXAMPLES", as_is(EXAMPLE.splitlines())),
            *under("SEE ALSO", ["\\fBkgroup\\-simulate\\fR(1)"]),
        ],
        "the keys that scenario files are read with",
    )


def _keys(title: str, about: str | None, keys: Mapping[str, Key]) -> Iterator[str]:
    entries = ((f"\\fB{text(name)}\\fR = {text(key.form)}", key.explained) for name, key in keys.items())
    intro = [] if about is None else list(paragraphs([about]))
    return under(title, [*intro, *definitions(entries)])
