"""PEM as Kafka's clients read it, including PEM on one line as properties files have it.

Kafka: `DefaultSslEngineFactory.PemParser`. White space of any kind stands between a block's parts (KIP-651),
while OpenSSL wants lines.
"""

import re
from typing import Final

_BLOCK: Final = re.compile(
    r"-{1,5}BEGIN\s+(?P<label>[A-Z0-9 ]*?)\s*-+\s*(?P<base64>[a-zA-Z0-9/+=\s]*?)-+END\s+(?P=label)\s*-{1,5}"
)
_LINE_CHARS: Final = 64


def in_lines(text: str) -> str:
    """The same blocks in lines, as RFC 7468 has them; all else, also a block with headers, as it is."""
    return _BLOCK.sub(_lines_of, text)


def _lines_of(block: re.Match[str]) -> str:
    base64 = "".join(block["base64"].split())
    lines = [base64[start : start + _LINE_CHARS] for start in range(0, len(base64), _LINE_CHARS)]
    label = " ".join(block["label"].split())
    return "\n".join([f"\n-----BEGIN {label}-----", *lines, f"-----END {label}-----\n"])


def block(label: str, der: bytes) -> str:
    """A block of these bytes."""
    from base64 import b64encode

    return in_lines(f"-----BEGIN {label}-----{b64encode(der).decode('ascii')}-----END {label}-----")
