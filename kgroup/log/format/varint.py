"""The zigzag variable-length integers inside v2 records (Protocol Buffers' encoding)."""

from kgroup.errors import DecodeError


def read_varint(buffer: bytes, at: int) -> tuple[int, int]:
    """A 32-bit varint and the position after it. Raises DecodeError if it is cut or longer than 5 bytes."""
    # Two bytes hold most of what is too large for one, and are cheaper to read without a loop.
    two = buffer[at : at + 2]
    if len(two) == 2 and two[0] >= 0x80 > two[1]:
        raw = (two[0] & 0x7F) | (two[1] << 7)
        return (raw >> 1) ^ -(raw & 1), at + 2
    return _read(buffer, at, longest=5)


def read_varlong(buffer: bytes, at: int) -> tuple[int, int]:
    """A 64-bit varint and the position after it. Raises DecodeError if it is cut or longer than 10 bytes."""
    return _read(buffer, at, longest=10)


def append_varint(buffer: bytearray, number: int) -> None:
    """Append a 32- or 64-bit varint in its shortest form."""
    raw = number << 1 if number >= 0 else (-number << 1) - 1
    while raw > 0x7F:
        buffer.append((raw & 0x7F) | 0x80)
        raw >>= 7
    buffer.append(raw)


def _read(buffer: bytes, at: int, *, longest: int) -> tuple[int, int]:
    raw = 0
    for count in range(longest):
        if at + count >= len(buffer):
            raise DecodeError("varint", at=at, why=f"cut short after {count} bytes")
        byte = buffer[at + count]
        raw |= (byte & 0x7F) << (7 * count)
        if byte < 0x80:
            # Java keeps the low 32 or 64 bits of what the bytes say.
            raw &= 0xFFFFFFFF if longest == 5 else 0xFFFFFFFFFFFFFFFF
            return (raw >> 1) ^ -(raw & 1), at + count + 1
    raise DecodeError("varint", at=at, why=f"does not end within {longest} bytes")
