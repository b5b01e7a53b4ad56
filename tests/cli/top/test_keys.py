"""Keys as terminals send them."""

import pytest

from kgroup.cli.top.keys import keys_of
from kgroup.report.top.model import Key


@pytest.mark.parametrize(
    ("sent", "keys"),
    [
        (b"q", ["q"]),
        (b"\x1b", [Key.ESCAPE]),
        (b"\x1b[A\x1b[B", [Key.UP, Key.DOWN]),
        (b"\x1bOA\x1bOB\x1bOH\x1bOF", [Key.UP, Key.DOWN, Key.HOME, Key.END]),
        (b"\x1b[5~\x1b[6~\x06\x02", [Key.PAGE_UP, Key.PAGE_DOWN, Key.PAGE_DOWN, Key.PAGE_UP]),
        (b"\x1b[1~\x1b[4~\x1b[H\x1b[F", [Key.HOME, Key.END, Key.HOME, Key.END]),
        (b"\r\n\x7f\x08", [Key.ENTER, Key.ENTER, Key.BACKSPACE, Key.BACKSPACE]),
        ("é日".encode(), ["é", "日"]),
        (b"\x1b[1;5C\x1b[200~x", ["x"]),  # Ctrl-Right, and a paste that begins
        (b"\xff\x00\t", []),
        (b"", []),
    ],
)
def test_bytes_become_keys(sent: bytes, keys: list[str]) -> None:
    assert keys_of(sent) == keys
