"""The lines of `kafka-consumer-groups --reset-offsets`, `--delete` and `--delete-offsets`."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from kgroup.assignors.java_order import sorted_strings, string_order
from kgroup.protocol.topic_partition import TopicPartition

_LEAST_WIDTH: Final = 15
_MISSING: Final = "-"
NewOffsets = Mapping[TopicPartition, int]


def reset_lines(offsets: Mapping[str, NewOffsets]) -> Iterator[str]:
    """The new offsets of each group, below a heading; the partitions are in the order that was given."""
    group_width = max([_LEAST_WIDTH, *map(len, offsets)])
    topics = [len(topic) for of_group in offsets.values() for topic, _ in of_group]
    topic_width = max([_LEAST_WIDTH, *topics])
    yield ""
    if offsets:
        yield f"{'GROUP':<{group_width}} {'TOPIC':<{topic_width}} {'PARTITION':<10} NEW-OFFSET"
    for group in string_order(offsets):
        for (topic, partition), offset in offsets[group].items():
            yield f"{group:<{group_width}} {topic:<{topic_width}} {partition:<10} {offset}"


def export_lines(offsets: Mapping[str, NewOffsets], *, with_groups: bool) -> Iterator[str]:
    """The same as CSV, and the empty line that the tool puts behind it."""
    for group in string_order(offsets):
        for (topic, partition), offset in offsets[group].items():
            fields = [group] if with_groups else []
            yield ",".join(map(_csv, [*fields, topic, str(partition), str(offset)]))
    yield ""


def _csv(field: str) -> str:
    quoted = field.replace('"', '""')
    return f'"{quoted}"' if set(field) & set(',"\r\n ') else field


def delete_lines(groups: Sequence[str], failed: Mapping[str, str]) -> Iterator[str]:
    """Lines on the deletion of these groups; `failed` has the exceptions of those that are still there."""
    in_order = string_order(groups)
    deleted = ", ".join(f"'{group}'" for group in in_order if group not in failed)
    if not failed:
        yield f"Deletion of requested consumer groups ({deleted}) was successful."
        return
    yield ""
    yield "Error: Deletion of some consumer groups failed:"
    for group in in_order:
        if group in failed:
            yield f"* Group '{group}' could not be deleted due to: {failed[group]}"
    if deleted:
        yield ""
        yield f"These consumer groups were deleted successfully: {deleted}"


def deleted_offset_lines(results: Mapping[TopicPartition, str | None]) -> Iterator[str]:
    """The state of each partition: None is deleted, else the exception. Partition -1 is a whole topic."""
    width = max([_LEAST_WIDTH, *(len(topic) for topic, _ in results)])
    yield ""
    yield f"{'TOPIC':<{width}} {'PARTITION':<10} {'STATUS':<15}"
    by_text = {f"{topic}{partition}": (topic, partition) for topic, partition in results}
    for text in sorted_strings(by_text):
        topic, partition = by_text[text]
        error = results[topic, partition]
        status = "Successful" if error is None else f"Error: {error}"
        yield f"{topic:<{width}} {str(partition) if partition >= 0 else _MISSING:<10} {status:<15}"
