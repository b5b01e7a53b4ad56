"""Damage to bytes as disks, copies and careless tools do it, drawn from a seeded generator."""

import random
from collections.abc import Callable, Sequence
from typing import Final

EDGES: Final = (0, 1, -1, 2**7 - 1, -(2**7), 2**15 - 1, -(2**15), 2**31 - 1, -(2**31), 2**63 - 1, -(2**63))


def remove(rng: random.Random, raw: bytearray) -> None:
    """Take out one byte, or a few."""
    at = rng.randrange(len(raw))
    del raw[at : at + rng.choice((1, 1, 1, 2, 16, 17, rng.randrange(1, 200)))]


def insert(rng: random.Random, raw: bytearray) -> None:
    """Put in one byte, or a few, zeros or others."""
    at = rng.randrange(len(raw) + 1)
    size = rng.choice((1, 1, 2, rng.randrange(1, 100)))
    raw[at:at] = rng.choice((bytes(size), rng.randbytes(size)))


def flip(rng: random.Random, raw: bytearray) -> None:
    """Turn over a bit, or a few."""
    for _ in range(rng.choice((1, 1, 1, 2, 8))):
        raw[rng.randrange(len(raw))] ^= 1 << rng.randrange(8)


def truncate(rng: random.Random, raw: bytearray) -> None:
    """Cut off the end."""
    del raw[rng.randrange(len(raw)) :]


def repeat(rng: random.Random, raw: bytearray) -> None:
    """Put a range in a second time, behind itself or elsewhere."""
    start = rng.randrange(len(raw))
    again = raw[start : start + rng.randrange(1, 2000)]
    at = rng.choice((start + len(again), rng.randrange(len(raw) + 1)))
    raw[at:at] = again


def zero(rng: random.Random, raw: bytearray) -> None:
    """Write zeros over a range, as a lost page does."""
    at = rng.randrange(len(raw))
    size = min(rng.choice((1, 8, 61, 512, 4096)), len(raw) - at)
    raw[at : at + size] = bytes(size)


def edge_number(rng: random.Random, raw: bytearray) -> None:
    """Write a number at the edge of its type somewhere."""
    width = rng.choice((1, 2, 4, 8))
    at = rng.randrange(len(raw))
    number = rng.choice(EDGES) % (1 << 8 * width)
    raw[at : at + width] = number.to_bytes(width, "big")[: len(raw) - at]


def long_number(rng: random.Random, raw: bytearray) -> None:
    """Make a digit thousands of them."""
    digits = [at for at, byte in enumerate(raw) if byte in b"0123456789"]
    if digits:
        at = rng.choice(digits)
        raw[at : at + 1] = b"7" * rng.choice((20, 5000))


MUTATIONS: Final[Sequence[Callable[[random.Random, bytearray], None]]] = (
    remove,
    insert,
    flip,
    truncate,
    repeat,
    zero,
    edge_number,
    long_number,
)


def mutated(rng: random.Random, raw: bytes, *, most: int = 3) -> bytes:
    """`raw` with one to `most` mutations; never empty before the last of them."""
    changed = bytearray(raw)
    for _ in range(rng.randrange(1, most + 1)):
        if not changed:
            break
        rng.choice(MUTATIONS)(rng, changed)
    return bytes(changed)
