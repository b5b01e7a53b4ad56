"""The state that survives a restart, besides the logs, as text: a snapshot with a checksum, and a journal.

A change is one line, so that a topic costs the same whether it is the first or the ten thousandth. Each says
how things are and not what was done: the journal over a newer state of the whole gives that state again.
"""

import json
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any, Final
from uuid import UUID

import google_crc32c

from kgroup.errors import SourceError
from kgroup.protocol.topic_name import is_topic_name

CLUSTER_FILE: Final = "kgroup-cluster.json"
JOURNAL_FILE: Final = "kgroup-cluster.journal"
_VERSION: Final = 1
_CHECKSUM_LETTERS: Final = 8


@dataclass(slots=True, kw_only=True)
class TopicSpec:
    """A topic as it is kept: everything but its records."""

    name: str
    topic_id: UUID
    partitions: int
    replication_factor: int
    configs: dict[str, str] = field(default_factory=dict)


@dataclass(slots=True, kw_only=True)
class ClusterSpec:
    """The state that outlives a restart besides the logs.

    `group_configs` are those that clients have set, by group; a group need not exist to have some.
    `next_producer_id` is the first not given out. `leader_epoch` is the highest that an election while the
    cluster ran has led to: no log knows of it before there is a record under it. -1: there was none.
    """

    cluster_id: str
    topics: dict[str, TopicSpec] = field(default_factory=dict)
    next_producer_id: int = 0
    leader_epoch: int = -1
    group_configs: dict[str, dict[str, str]] = field(default_factory=dict)


def encode_spec(spec: ClusterSpec) -> str:
    """The text of the whole state: JSON with its version and checksum."""
    facts: dict[str, object] = {
        "version": _VERSION,
        "clusterId": spec.cluster_id,
        "nextProducerId": spec.next_producer_id,
        **_leader_epoch(spec),
        "topics": {name: _topic_facts(topic) for name, topic in sorted(spec.topics.items())},
    }
    if spec.group_configs:
        facts["groups"] = dict(sorted(spec.group_configs.items()))
    return json.dumps({"crc32c": _checksum(facts), **facts}, indent=1)


def decode_spec(raw: bytes, where: str) -> ClusterSpec:
    """The state in a file's bytes. Raises SourceError, which names the file by `where`, if it is not whole.

    A file without checksum is one that an older kgroup wrote.
    """
    facts = _parse(raw, where)
    if not isinstance(facts, dict):
        raise SourceError(f"{where}: not what kgroup wrote: no JSON object")
    version = facts.get("version", _VERSION)
    if version != _VERSION:
        raise SourceError(
            f"{where}: not what kgroup wrote: version {version!r}, while this one knows {_VERSION}"
        )
    checksum = facts.pop("crc32c", None)
    if checksum is not None and checksum != (actual := _checksum(facts)):
        raise SourceError(
            f"{where}: not what kgroup wrote: its checksum is {checksum} and should be {actual}; to have the "
            "topics read from the folders instead, move this file away and say --adopt"
        )
    try:
        topics = {str(name): _read_topic(str(name), topic) for name, topic in facts["topics"].items()}
        group_configs = {
            str(group): _read_configs(configs) for group, configs in facts.get("groups", {}).items()
        }
        cluster_id, next_producer_id = facts["clusterId"], facts["nextProducerId"]
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        why = f"no {error}" if isinstance(error, KeyError) else error
        raise SourceError(f"{where}: not what kgroup wrote: {why}") from error
    if not (isinstance(cluster_id, str) and isinstance(next_producer_id, int) and next_producer_id >= 0):
        raise SourceError(f"{where}: not what kgroup wrote: a field has the wrong type")
    leader_epoch = facts.get("leaderEpoch", -1)
    if not (isinstance(leader_epoch, int) and leader_epoch >= -1):
        raise SourceError(f"{where}: not what kgroup wrote: a field has the wrong type")
    return ClusterSpec(
        cluster_id=cluster_id,
        next_producer_id=next_producer_id,
        topics=topics,
        leader_epoch=leader_epoch,
        group_configs=group_configs,
    )


def encode_change(spec: ClusterSpec, topics: Iterable[str]) -> str:
    """A line of the journal: how these topics are now (gone, if the state has them no more).

    Settings of groups are not in the journal: few are ever made, and each makes the whole again.
    """
    changed = {name: spec.topics.get(name) for name in topics}
    change = {
        "nextProducerId": spec.next_producer_id,
        **_leader_epoch(spec),
        "topics": {name: topic and _topic_facts(topic) for name, topic in sorted(changed.items())},
    }
    text = json.dumps(change, separators=(",", ":"))
    return f"{_crc(text)} {text}\n"


def apply_journal(spec: ClusterSpec, raw: bytes, where: str) -> ClusterSpec:
    """The state after the changes of a journal.

    Lines at the end that are cut short or that a loss of power garbled are changes that nobody heard of.
    Raises SourceError for damage with a sound line behind it.
    """
    topics, next_producer_id = dict(spec.topics), spec.next_producer_id
    leader_epoch = spec.leader_epoch
    for number, line in _sound_lines(raw):
        try:
            checksum, text = line[:_CHECKSUM_LETTERS].decode(), line[_CHECKSUM_LETTERS + 1 :].decode()
            if checksum != _crc(text):
                raise ValueError("its checksum is wrong")
            change = json.loads(text)
            for name, facts in change["topics"].items():
                if facts is None:
                    topics.pop(name, None)
                else:
                    topics[name] = _read_topic(name, facts)
            next_producer_id = max(next_producer_id, int(change["nextProducerId"]))
            leader_epoch = max(leader_epoch, int(change.get("leaderEpoch", -1)))
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
            raise SourceError(f"{where}:{number}: not what kgroup wrote: {error}") from error
    return replace(spec, topics=topics, next_producer_id=next_producer_id, leader_epoch=leader_epoch)


def garbled_bytes(raw: bytes) -> int:
    """The bytes of a journal's whole lines that no sound line follows."""
    sound = sum(len(line) + 1 for _, line in _sound_lines(raw))
    return max(raw.rfind(b"\n") + 1 - sound, 0)


def _sound_lines(raw: bytes) -> Iterator[tuple[int, bytes]]:
    """The lines up to the last one that has its checksum, by number."""
    *lines, _ = raw.split(b"\n")
    while lines and not _is_sound(lines[-1]):
        lines.pop()
    yield from enumerate(lines, start=1)


def _is_sound(line: bytes) -> bool:
    try:
        return line[:_CHECKSUM_LETTERS].decode() == _crc(line[_CHECKSUM_LETTERS + 1 :].decode())
    except UnicodeDecodeError:
        return False


def _parse(raw: bytes, where: str) -> Any:
    try:
        return json.loads(raw.decode())
    except UnicodeDecodeError as error:
        raise SourceError(f"{where}: not what kgroup wrote: byte {error.start} is not text") from error
    except RecursionError as error:
        raise SourceError(f"{where}: not what kgroup wrote: nested too deeply") from error
    except ValueError as error:
        raise SourceError(f"{where}: not what kgroup wrote: {error}") from error


def _leader_epoch(spec: ClusterSpec) -> dict[str, int]:
    return {"leaderEpoch": spec.leader_epoch} if spec.leader_epoch >= 0 else {}


def _topic_facts(topic: TopicSpec) -> dict[str, object]:
    return {
        "id": str(topic.topic_id),
        "partitions": topic.partitions,
        "replicationFactor": topic.replication_factor,
        "configs": topic.configs,
    }


def _read_topic(name: str, facts: dict[str, object]) -> TopicSpec:
    """Raises ValueError, KeyError, TypeError or AttributeError for what is no topic."""
    if not is_topic_name(name):
        raise ValueError(f"no topic can be called {name!r}")
    partitions, replication_factor, configs = (
        facts["partitions"],
        facts["replicationFactor"],
        facts["configs"],
    )
    if not (
        isinstance(partitions, int) and isinstance(replication_factor, int) and isinstance(configs, dict)
    ):
        raise TypeError(f"a field of topic {name} has the wrong type")
    if partitions < 1 or replication_factor < 1:
        raise ValueError(f"topic {name} has {partitions} partitions and {replication_factor} replicas")
    return TopicSpec(
        name=name,
        topic_id=UUID(str(facts["id"])),
        partitions=partitions,
        replication_factor=replication_factor,
        configs=_read_configs(configs),
    )


def _read_configs(configs: dict[str, object]) -> dict[str, str]:
    return {str(key): str(value) for key, value in configs.items()}


def _checksum(facts: dict[str, object]) -> str:
    return _crc(json.dumps(facts, sort_keys=True, separators=(",", ":")))


def _crc(text: str) -> str:
    return f"{google_crc32c.value(text.encode()):0{_CHECKSUM_LETTERS}x}"
