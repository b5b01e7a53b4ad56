"""The two hashes Redpanda places groups with: xxHash64 of the id, then a jump consistent hash."""

import struct

_MASK_64 = 2**64 - 1


def jump_hash(key: int, buckets: int) -> int:
    """Bucket of a 64-bit `key`: Lamping and Veach, "A Fast, Minimal Memory, Consistent Hash Algorithm".

    Ends because each jump goes forward.
    """
    bucket, jump = -1, 0
    while jump < buckets:
        bucket = jump
        key = (key * 2862933555777941757 + 1) & _MASK_64
        jump = int((bucket + 1) * (float(2**31) / float((key >> 33) + 1)))
    return bucket


_P1, _P2, _P3, _P4, _P5 = (
    0x9E3779B185EBCA87,
    0xC2B2AE3D27D4EB4F,
    0x165667B19E3779F9,
    0x85EBCA77C2B2AE63,
    0x27D4EB2F165667C5,
)


def xxhash64(text: bytes) -> int:
    """XXH64 with seed 0, as an unsigned integer (xxHash specification, "XXH64 Algorithm Description")."""
    position = 0
    if len(text) >= 32:
        lanes = [(_P1 + _P2) & _MASK_64, _P2, 0, -_P1 & _MASK_64]
        while position + 32 <= len(text):
            words = struct.unpack_from("<4Q", text, position)
            lanes = [_round(lane, word) for lane, word in zip(lanes, words, strict=True)]
            position += 32
        total = sum(_rotate(lane, by) for lane, by in zip(lanes, (1, 7, 12, 18), strict=True))
        for lane in lanes:
            total = ((total ^ _round(0, lane)) * _P1 + _P4) & _MASK_64
    else:
        total = _P5
    total = (total + len(text)) & _MASK_64
    return _avalanche(_mix_tail(total, text[position:]))


def _mix_tail(total: int, tail: bytes) -> int:
    while len(tail) >= 8:
        total = (_rotate(total ^ _round(0, struct.unpack_from("<Q", tail)[0]), 27) * _P1 + _P4) & _MASK_64
        tail = tail[8:]
    if len(tail) >= 4:
        total ^= struct.unpack_from("<I", tail)[0] * _P1 & _MASK_64
        total = (_rotate(total, 23) * _P2 + _P3) & _MASK_64
        tail = tail[4:]
    for byte in tail:
        total = _rotate(total ^ byte * _P5 & _MASK_64, 11) * _P1 & _MASK_64
    return total


def _avalanche(total: int) -> int:
    total = (total ^ total >> 33) * _P2 & _MASK_64
    total = (total ^ total >> 29) * _P3 & _MASK_64
    return total ^ total >> 32


def _round(lane: int, word: int) -> int:
    return _rotate((lane + word * _P2) & _MASK_64, 31) * _P1 & _MASK_64


def _rotate(word: int, by: int) -> int:
    return (word << by | word >> (64 - by)) & _MASK_64
