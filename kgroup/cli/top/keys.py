"""Keys as a terminal sends them: bytes in, key names out."""

import re
from typing import Final

from kgroup.report.top.model import Key

_SEQUENCES: Final = {
    "[A": Key.UP,
    "OA": Key.UP,
    "[B": Key.DOWN,
    "OB": Key.DOWN,
    "[5~": Key.PAGE_UP,
    "[6~": Key.PAGE_DOWN,
    "[H": Key.HOME,
    "OH": Key.HOME,
    "[1~": Key.HOME,
    "[7~": Key.HOME,
    "[F": Key.END,
    "OF": Key.END,
    "[4~": Key.END,
    "[8~": Key.END,
}
"""What follows ESC, of xterm, its application mode, the Linux console and rxvt."""
_CHARACTERS: Final = {
    "\r": Key.ENTER,
    "\n": Key.ENTER,
    "\x7f": Key.BACKSPACE,
    "\b": Key.BACKSPACE,
    "\x06": Key.PAGE_DOWN,
    "\x02": Key.PAGE_UP,
}
# ECMA-48: a control sequence is ESC [, parameters, a final byte; ESC O is xterm's application mode.
_PIECE: Final = re.compile(r"\x1b(\[[0-?]*[ -/]*[@-~]|O[@-~])|(.)", re.DOTALL)


def keys_of(sent: bytes) -> list[str]:
    """The keys of what was read at once. A lone ESC is that key; other sequences are left out.

    A terminal sends a sequence in one piece, so what begins with ESC and more is one.
    """
    keys: list[str] = []
    for piece in _PIECE.finditer(sent.decode("utf-8", "ignore")):
        sequence, character = piece.groups()
        if sequence is not None:
            keys += [_SEQUENCES[sequence]] if sequence in _SEQUENCES else []
        elif character == "\x1b":
            keys.append(Key.ESCAPE)
        elif (key := _CHARACTERS.get(character)) is not None:
            keys.append(key)
        elif character.isprintable():
            keys.append(character)
    return keys
