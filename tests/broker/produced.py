"""A client's batch handed to a partition, without the request around it."""

from kgroup.broker.partition import Partition
from kgroup.broker.produced_batch import BatchRules, Refusal
from kgroup.protocol.error_codes import ErrorCode

NOW_MS = 1_000_000


def produce(partition: Partition, batch: bytes, max_bytes: int = 1 << 20) -> tuple[ErrorCode, int]:
    """The error and the offset of the first record, -1 where it was refused."""
    rules = BatchRules(name=f"{partition.topic}-{partition.index}", max_message_bytes=max_bytes)
    outcome = partition.produce(batch, rules, NOW_MS)
    return (outcome.error, -1) if isinstance(outcome, Refusal) else (ErrorCode.NONE, outcome)
