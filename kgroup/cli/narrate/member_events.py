"""The output of `kgroup join` while it runs, as lines of text or of JSON."""

from collections.abc import Callable, Iterable, Sequence
from datetime import UTC, datetime
from typing import Any

from kgroup.cli.shell.say import say
from kgroup.group.member.consumer.member import ConsumerMember
from kgroup.group.member.new import Member
from kgroup.group.member.step import Callback, CallbackKind, CommitOutcome
from kgroup.net.member.connection import Exchange
from kgroup.protocol.error_codes import ErrorCode
from kgroup.protocol.requests.client import FetchedRecord
from kgroup.protocol.topic_partition import TopicPartition, group_by_topic
from kgroup.report.emit import to_json
from kgroup.report.records.exchange_text import api_name, byte_lines, field_lines, json_fields
from kgroup.report.table import printable

_WORDS = {CallbackKind.ASSIGNED: "assigned", CallbackKind.REVOKED: "revoked", CallbackKind.LOST: "lost"}


class MemberEvents:
    """Writes one member's life to standard output, troubles to standard error. A `Watcher`."""

    def __init__(
        self, name: str, stop: Callable[[], None], *, as_json: bool, trace: bool, quiet: bool
    ) -> None:
        self.closed_pipe: BrokenPipeError | None = None
        self._stop = stop
        self.name = name
        self.machine: Member | None = None
        self._as_json = as_json
        self._trace = trace
        self._quiet = quiet
        self._last_trouble = ""
        self._topics_named: set[str] = set()
        self._last_committed: tuple[tuple[TopicPartition, int], ...] | None = None
        self._last_state: tuple[str, int] | None = None

    def callback(self, callback: Callback) -> None:
        """Partitions came or went."""
        member = self.machine
        assert member is not None
        if isinstance(member, ConsumerMember):
            place = f" at member epoch {callback.generation}"
        else:
            place = f" in generation {callback.generation} as {'leader' if member.is_leader else 'follower'}"
        self._say(
            _WORDS[callback.kind],
            f"{_partitions(callback.partitions)}" + (place if callback.kind is CallbackKind.ASSIGNED else ""),
            partitions=[list(each) for each in callback.partitions],
            generation=callback.generation,
            member_id=member.member_id,
            leader=member.is_leader,
        )

    def read(self, partition: TopicPartition, records: Sequence[FetchedRecord]) -> None:
        """Records were handed out."""
        assert self.machine is not None
        position = self.machine.positions.get(partition)
        at, end = (position.position, position.high_watermark) if position else (None, None)
        self._say(
            "read",
            f"{partition[0]}:{partition[1]} offsets {records[0].offset} to {records[-1].offset}, "
            f"{len(records)} record{'' if len(records) == 1 else 's'}; position {at}, high watermark {end}",
            topic=partition[0],
            partition=partition[1],
            records=len(records),
            first_offset=records[0].offset,
            last_offset=records[-1].offset,
            position=at,
            high_watermark=end,
        )

    def committed(self, outcome: CommitOutcome) -> None:
        """A commit ended."""
        failed = outcome.error_code is not ErrorCode.NONE
        if not outcome.offsets or (outcome.offsets == self._last_committed and not failed):
            return  # auto-commit repeats itself while nothing is read
        self._last_committed = None if failed else outcome.offsets
        offsets = " ".join(f"{topic}:{number}@{offset}" for (topic, number), offset in outcome.offsets)
        self._say(
            "commit-failed" if failed else "committed",
            f"{outcome.error_code.name}: {offsets}" if failed else offsets,
            error=outcome.error_code.name,
            offsets=[[topic, number, offset] for (topic, number), offset in outcome.offsets],
        )

    def failed(self, why: str) -> None:
        """A request found no answer: said once until something else happens."""
        if why != self._last_trouble and not self._quiet:
            say(f"{self.name}: {why}")
        self._last_trouble = why

    def acts(self, said: str) -> None:
        """The user does something."""
        self._say("does", said, does=said)

    def stepped(self) -> None:
        """The member may have another state; a trace says which."""
        member = self.machine
        if member is None or not self._trace:
            return
        now = (member.state.value, member.generation)
        if now != self._last_state:
            self._last_state = now
            self._say("state", f"{now[0]}, generation {now[1]}", state=now[0], generation=now[1])

    def left(self) -> None:
        """The member is closed."""
        self._say("left", "")

    def exchange(self, exchange: Exchange) -> None:
        """A request was sent or a response came."""
        if exchange.api == "Metadata" and not exchange.is_request:
            self._name_missing(exchange.body.topics)
        if not self._trace:
            return
        kind = "request" if exchange.is_request else "response"
        fields = exchange.body.to_dict(json=False)
        if self._as_json:
            self._say(
                kind,
                "",
                api=api_name(exchange.api),
                version=exchange.version,
                correlation_id=exchange.correlation_id,
                node=exchange.node,
                connection_id=exchange.connection_id,
                timeout_ms=exchange.timeout_ms,
                body=json_fields(fields),
                bytes=exchange.frame.hex(),
            )
            return
        arrow = "->" if exchange.is_request else "<-"
        waits = "" if exchange.timeout_ms is None else f", timeout {exchange.timeout_ms} ms"
        size = f"{len(exchange.frame)} bytes" if exchange.frame else "its bytes are secret"
        self._say(
            f"{arrow} {api_name(exchange.api)} v{exchange.version}",
            f"{exchange.node}, connection {exchange.connection_id}, correlation id "
            f"{exchange.correlation_id}, {size}{waits}",
        )
        lines = [*field_lines(fields), *byte_lines(exchange.frame)]
        self._print("\n".join(lines))

    def _name_missing(self, topics: Iterable[Any]) -> None:
        """Name topics that do not exist: Kafka's consumer just waits for them."""
        for topic in topics:
            is_missing = topic.error_code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
            if is_missing and topic.name not in self._topics_named:
                self._topics_named.add(topic.name)
                self.failed(f"there is no topic {topic.name}, or it may not be seen; waiting for it")

    def _say(self, event: str, text: str, **fields: object) -> None:
        self._last_trouble = ""
        now = datetime.now(UTC)
        if self._as_json:
            time_ms = int(now.timestamp() * 1000)
            self._print(to_json({"time": time_ms, "member": self.name, "event": event, **fields}))
        else:
            time = now.isoformat(timespec="milliseconds").replace("+00:00", "Z")
            self._print(printable(f"{time}  {self.name}  {event}  {text}".rstrip()))

    def _print(self, text: str) -> None:
        """The member must leave in order even when nobody listens any more, so a closed pipe ends no task."""
        if self.closed_pipe is not None:
            return
        try:
            print(text, flush=True)
        except BrokenPipeError as error:
            self.closed_pipe = error
            self._stop()


def _partitions(partitions: Sequence[TopicPartition]) -> str:
    by_topic = group_by_topic(partitions)
    return " ".join(f"{topic}:{','.join(map(str, ids))}" for topic, ids in by_topic.items()) or "nothing"
