"""Edges between groups and topics as rows and diagrams, and who is late because of whom."""

from collections.abc import Iterable, Iterator
from enum import StrEnum
from typing import Final

from kgroup.history.feeds.model import Feed, FeedKind
from kgroup.lag.findings.late import Late
from kgroup.report.emit import Column, Kind, Row

FEED_COLUMNS: Final = (
    Column(name="from_kind"),
    Column(name="from"),
    Column(name="to_kind"),
    Column(name="to"),
    Column(name="how"),
    Column(name="grade"),
    Column(name="partitions", kind=Kind.NESTED),
    Column(name="transactions", kind=Kind.INTEGER),
    Column(name="aborted", kind=Kind.INTEGER),
    Column(name="open", kind=Kind.INTEGER),
    Column(name="beside", kind=Kind.INTEGER),
    Column(name="records", kind=Kind.INTEGER),
    Column(name="first_time", kind=Kind.TIME_MS),
    Column(name="last_time", kind=Kind.TIME_MS),
    Column(name="producer_ids", kind=Kind.NESTED),
    Column(name="matched_by"),
)
LATE_COLUMNS: Final = (
    Column(name="group"),
    Column(name="topic"),
    Column(name="because"),
    Column(name="cause"),
    Column(name="chain", kind=Kind.NESTED),
    Column(name="grade"),
    Column(name="since", kind=Kind.TIME_MS),
    Column(name="evidence"),
)


class Drawing(StrEnum):
    """The values of `--draw`."""

    MERMAID = "mermaid"
    DOT = "dot"


def feed_table() -> tuple[Column, ...]:
    """The columns of a table of edges."""
    return (
        Column(name="from_text", header="FROM"),
        Column(name="how", header="HOW"),
        Column(name="to_text", header="TO"),
        Column(name="transactions", header="TRANSACTIONS", narrow="TXNS", kind=Kind.INTEGER, spare=1),
        Column(name="last_time", header="LAST", kind=Kind.TIME_MS, spare=3),
        Column(name="grade", spare=2),
    )


def late_table() -> tuple[Column, ...]:
    """The columns of a table of late groups."""
    return (
        Column(name="group"),
        Column(name="because"),
        Column(name="chain_text", header="CHAIN"),
        Column(name="evidence"),
    )


def feed_rows(feeds: Iterable[Feed]) -> Iterator[Row]:
    """A row for each edge."""
    for feed in feeds:
        ends = ("topic", feed.topic), ("group", feed.group)
        (from_kind, from_name), (to_kind, to_name) = ends if feed.is_into_group else ends[::-1]
        yield {
            "from_kind": from_kind,
            "from": from_name,
            "from_text": f"{from_kind} {from_name}",
            "to_kind": to_kind,
            "to": to_name,
            "to_text": f"{to_kind} {to_name}",
            "how": feed.kind.value,
            "grade": feed.grade.value,
            "partitions": list(feed.partitions),
            "transactions": feed.transactions,
            "aborted": feed.aborted,
            "open": feed.open,
            "beside": feed.beside,
            "records": feed.records,
            "first_time": feed.first_ms,
            "last_time": feed.last_ms,
            "producer_ids": list(feed.producer_ids),
            "matched_by": None if feed.matched_by is None else feed.matched_by.value,
        }


def late_rows(late: Iterable[Late]) -> Iterator[Row]:
    """A row for each group and topic that waits."""
    for each in late:
        yield {
            "group": each.group,
            "topic": each.topic,
            "because": each.because.value,
            "cause": each.cause,
            "chain": list(each.chain),
            "chain_text": " < ".join(each.chain),
            "grade": each.grade.value,
            "since": each.since_ms,
            "evidence": each.evidence,
        }


def drawn(feeds: Iterable[Feed], drawing: Drawing) -> Iterator[str]:
    """The lines of a flowchart for Mermaid or a digraph for Graphviz: groups are boxes, topics are round.

    What is not recorded is dashed. Names are escaped.
    """
    edges = list(feeds)
    names = sorted({("g", edge.group) for edge in edges} | {("t", edge.topic) for edge in edges})
    numbers = {name: f"{name[0]}{number}" for number, name in enumerate(names)}
    is_dot = drawing is Drawing.DOT
    yield "digraph feeds {" if is_dot else "flowchart LR"
    for kind, name in names:
        node = numbers[kind, name]
        if is_dot:
            yield f'  {node} [label="{_quoted(name)}", shape={"box" if kind == "g" else "ellipse"}];'
        else:
            opening, closing = ("[", "]") if kind == "g" else ("([", "])")
            yield f'  {node}{opening}"{_coded(name)}"{closing}'
    for edge in edges:
        ends = numbers["t", edge.topic], numbers["g", edge.group]
        begin, end = ends if edge.is_into_group else ends[::-1]
        is_seen = edge.grade == "recorded" and edge.kind is not FeedKind.DECLARED
        if is_dot:
            yield f"  {begin} -> {end}{'' if is_seen else ' [style=dashed]'};"
        else:
            yield f"  {begin} {'-->' if is_seen else '-.->'} {end}"
    if is_dot:
        yield "}"


def _quoted(name: str) -> str:
    return (
        "".join(char if char.isprintable() else "?" for char in name)
        .replace("\\", "\\\\")
        .replace('"', '\\"')
    )


def _coded(name: str) -> str:
    """Mermaid takes characters by number."""
    return "".join(char if char.isalnum() or char in "-_. :/" else f"#{ord(char)};" for char in name)
