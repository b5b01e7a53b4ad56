"""`group_hash.jsonl`: group id, its Java hash code, and its offsets partition for several partition counts.

A line: `{"group_id": "a", "hash": 97, "partition": {"50": 47, ...}}`.
"""

import json
from collections.abc import Iterator
from pathlib import Path

from kgroup.protocol.group_hash import java_hash_code, partition_for
from tests.vectors.case import Case, VectorError


def cases(path: Path) -> Iterator[Case]:
    with path.open(encoding="utf-8") as lines:
        for number, line in enumerate(lines, 1):
            if line.strip():
                yield _case(f"{path.name}:{number}", line)


def _case(line_name: str, line: str) -> Case:
    try:
        known = json.loads(line)
        group, hash_code, partitions = known["group_id"], known["hash"], known["partition"]
        expected = {int(count): partition for count, partition in partitions.items()}
    except (ValueError, KeyError, TypeError, AttributeError) as error:
        raise VectorError(f"{line_name} is not a group hash: {error!r}") from error
    name = f"{line_name} {group!r}"
    if java_hash_code(group) != hash_code:
        return Case(name, f"hash {java_hash_code(group)}, Kafka says {hash_code}")
    answered = {count: partition_for(group, count) for count in expected}
    return Case(name, None if answered == expected else f"partitions {answered}, Kafka says {expected}")
