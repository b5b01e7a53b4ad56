"""The kernel that writes batches of the offsets topic as a broker does, by the hundred megabytes.

A broker appends what a commit request holds as one batch; newer ones wait some milliseconds for more
requests of the same offsets partition. A transaction is a batch of one producer and, some batches later,
its marker.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from kgroup.scan.kernels.batches import HEADER_SIZE
from kgroup.scan.kernels.compile import helper, kernel
from kgroup.scan.kernels.crc import crc32c

Ints = NDArray[np.int64]

NEXT_OFFSET, CLOCK, RANDOM, OPEN_FIRST, OPEN_COUNT, STEP, PRODUCER_BASE = range(7)
"""Places in the state of a partition's writer: the next log offset, epoch ms, a random state, and so on."""

OPEN_MAX = 8
"""Transactions that are open at a time."""
_REQUESTS_MAX = 6


class Tails(NamedTuple):
    """Records to write: raw[starts[i]:starts[i + 1]], with numbers to patch in; see `fleet.Tail`."""

    raw: NDArray[np.uint8]
    starts: Ints
    first_at: Ints
    first_size: Ints
    time_at: Ints


class Plan(NamedTuple):
    """The contents to write to one offsets partition.

    Member m commits the tails `first[m]` up to `first[m + 1]`, whose tombstones have the same places in
    `tombstones`; its group's metadata is tail `group[m]` of `groups`. `schedule` names members, often
    those that commit often. `committed` is the last offset per commit tail, `generation` per group.
    """

    commits: Tails
    tombstones: Tails
    groups: Tails
    first: Ints
    group: Ints
    schedule: NDArray[np.int32]
    committed: Ints
    generation: Ints


@kernel
def write_batches(
    buffer: NDArray[np.uint8],
    limit: int,
    plan: Plan,
    state: Ints,
    open_producers: Ints,
    busy: NDArray[np.bool_],
    transactions: bool,
    written: Ints,
) -> tuple[int, int]:
    """Fill buffer[:limit] with whole batches; return the bytes and batches written.

    Per batch `written` gets its position, last offset, timestamp and number of records.
    """
    position = 0
    batches = 0
    while batches < len(written):
        member = plan.schedule[_random(state, len(plan.schedule))]
        dice = _random(state, 1000)
        if transactions and (state[OPEN_COUNT] == OPEN_MAX or busy[member]):
            if position + 128 > limit:
                break
            size = _write_marker(buffer, position, state, open_producers, busy)
            count = 1
        else:
            if position + _largest(plan, member) > limit:
                break
            if dice < 4:
                size, count = _write_group(buffer, position, plan, state, member), 1
            elif dice < 7:
                size, count = _write_tombstone(buffer, position, plan, state, member), 1
            else:
                size, count = _write_commits(buffer, position, plan, state, member, transactions)
                if transactions:
                    slot = (state[OPEN_FIRST] + state[OPEN_COUNT]) % OPEN_MAX
                    open_producers[slot] = member
                    state[OPEN_COUNT] += 1
                    busy[member] = True
        written[batches, 0] = position
        written[batches, 1] = state[NEXT_OFFSET] - 1
        written[batches, 2] = state[CLOCK]
        written[batches, 3] = count
        state[CLOCK] += _random(state, 2 * state[STEP] + 1)
        batches += 1
        position += size
    return position, batches


@helper
def _largest(plan: Plan, member: int) -> int:
    tails = plan.commits.starts[plan.first[member + 1]] - plan.commits.starts[plan.first[member]]
    records = plan.first[member + 1] - plan.first[member]
    group = plan.group[member]
    metadata = plan.groups.starts[group + 1] - plan.groups.starts[group]
    largest: int = HEADER_SIZE + 16 + max(_REQUESTS_MAX * (tails + 12 * records), metadata)
    return largest


@helper
def _write_commits(
    buffer: NDArray[np.uint8], position: int, plan: Plan, state: Ints, member: int, transaction: bool
) -> tuple[int, int]:
    requests = 1
    while not transaction and requests < _REQUESTS_MAX and _random(state, 2):
        requests += 1
    at = position + HEADER_SIZE
    count = 0
    for _ in range(requests):
        for key in range(plan.first[member], plan.first[member + 1]):
            plan.committed[key] += _random(state, 500)
            at = _write_record(buffer, at, count, plan.commits, key, plan.committed[key], state[CLOCK])
            count += 1
    producer = state[PRODUCER_BASE] + member if transaction else -1
    _finish(buffer, position, at, count, state, producer, 0x10 if transaction else 0)
    return at - position, count


@helper
def _write_group(buffer: NDArray[np.uint8], position: int, plan: Plan, state: Ints, member: int) -> int:
    group = plan.group[member]
    plan.generation[group] += 1
    at = position + HEADER_SIZE
    at = _write_record(buffer, at, 0, plan.groups, group, plan.generation[group], state[CLOCK])
    _finish(buffer, position, at, 1, state, -1, 0)
    return at - position


@helper
def _write_tombstone(buffer: NDArray[np.uint8], position: int, plan: Plan, state: Ints, member: int) -> int:
    key = plan.first[member] + _random(state, plan.first[member + 1] - plan.first[member])
    at = _write_record(buffer, position + HEADER_SIZE, 0, plan.tombstones, key, 0, 0)
    _finish(buffer, position, at, 1, state, -1, 0)
    return at - position


@helper
def _write_marker(
    buffer: NDArray[np.uint8], position: int, state: Ints, open_producers: Ints, busy: NDArray[np.bool_]
) -> int:
    member = open_producers[state[OPEN_FIRST]]
    state[OPEN_FIRST] = (state[OPEN_FIRST] + 1) % OPEN_MAX
    state[OPEN_COUNT] -= 1
    busy[member] = False
    at = position + HEADER_SIZE
    buffer[at : at + 5] = 0
    buffer[at] = 32  # the varint of the 16 bytes that follow
    buffer[at + 4] = 8  # a key of 4: version 0, type
    put(buffer, at + 5, 0, 2)
    put(buffer, at + 7, 1 if _random(state, 100) < 97 else 0, 2)
    buffer[at + 9] = 12  # a value of 6: version 0, coordinator epoch
    put(buffer, at + 10, 0, 2)
    put(buffer, at + 12, 7, 4)
    buffer[at + 16] = 0
    _finish(buffer, position, at + 17, 1, state, state[PRODUCER_BASE] + member, 0x30)
    return at + 17 - position


@helper
def _write_record(
    buffer: NDArray[np.uint8], at: int, number: int, tails: Tails, tail: int, first: int, time: int
) -> int:
    """Write record `number` of a batch and return the position after it."""
    start = tails.starts[tail]
    size = tails.starts[tail + 1] - start
    at = _put_varint(buffer, at, 2 + (1 if number < 64 else 2) + size)
    buffer[at] = 0  # attributes
    buffer[at + 1] = 0  # timestamp delta
    at = _put_varint(buffer, at + 2, number)
    for i in range(size):
        buffer[at + i] = tails.raw[start + i]
    if tails.time_at[tail] >= 0:
        put(buffer, at + tails.time_at[tail], time, 8)
    if tails.first_at[tail] >= 0:
        put(buffer, at + tails.first_at[tail], first, tails.first_size[tail])
    after: int = at + size
    return after


@helper
def _finish(
    buffer: NDArray[np.uint8],
    position: int,
    end: int,
    count: int,
    state: Ints,
    producer: int,
    attributes: int,
) -> None:
    """Write the header of a batch whose records are there."""
    put(buffer, position, state[NEXT_OFFSET], 8)
    put(buffer, position + 8, end - position - 12, 4)
    put(buffer, position + 12, 5, 4)  # leader epoch
    buffer[position + 16] = 2
    put(buffer, position + 21, attributes, 2)
    put(buffer, position + 23, count - 1, 4)
    put(buffer, position + 27, state[CLOCK], 8)
    put(buffer, position + 35, state[CLOCK], 8)
    put(buffer, position + 43, producer, 8)
    put(buffer, position + 51, 0 if producer >= 0 else -1, 2)
    put(buffer, position + 53, -1, 4)
    put(buffer, position + 57, count, 4)
    put(buffer, position + 17, crc32c(buffer, position + 21, end), 4)
    state[NEXT_OFFSET] += count


@helper
def put(buffer: NDArray[np.uint8], position: int, number: int, size: int) -> None:
    """Write the low `size` bytes of a number, big-endian."""
    for i in range(size):
        buffer[position + size - 1 - i] = (number >> (8 * i)) & 0xFF


@helper
def _put_varint(buffer: NDArray[np.uint8], at: int, number: int) -> int:
    raw = number << 1
    while raw > 0x7F:
        buffer[at] = raw & 0x7F | 0x80
        at += 1
        raw >>= 7
    buffer[at] = raw
    return at + 1


@helper
def _random(state: Ints, below: int) -> int:
    """A number from 0 up to `below`, by xorshift64*."""
    mixed: int = state[RANDOM]
    mixed ^= (mixed >> 12) & 0xFFFFFFFFFFFFF
    mixed ^= mixed << 25
    mixed ^= (mixed >> 27) & 0x1FFFFFFFFF
    state[RANDOM] = mixed
    return ((mixed * 2685821657736338717) >> 33 & 0x7FFFFFFF) % below
