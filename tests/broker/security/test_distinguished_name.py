"""Names of certificates as Java writes them.

`subjects.json` has certificates made with `openssl req`, and what `X500Principal.getName()` of OpenJDK 17
made of each.
"""

import base64
import json
from pathlib import Path

import pytest

from kgroup.broker.security.distinguished_name import subject
from kgroup.errors import DecodeError

SUBJECTS = json.loads(Path(__file__).with_name("subjects.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("each", SUBJECTS, ids=[each["name"] for each in SUBJECTS])
def test_it_is_javas_name(each: dict[str, str]) -> None:
    assert subject(base64.b64decode(each["certificate"])) == each["name"]


def test_a_certificate_of_version_1_does_not_say_so() -> None:
    """X.509: the version field is left out where it is the first one."""
    whole = base64.b64decode(SUBJECTS[0]["certificate"])
    version = bytes.fromhex("a003020102")
    head, _, rest = whole.partition(version)
    assert (len(head), head[:2], head[4:6]) == (8, b"\x30\x82", b"\x30\x82"), "two lengths of two bytes each"
    outer, inner = (int.from_bytes(head[at : at + 2], "big") - len(version) for at in (2, 6))
    first = b"\x30\x82" + outer.to_bytes(2, "big") + b"\x30\x82" + inner.to_bytes(2, "big") + rest
    assert subject(first) == SUBJECTS[0]["name"]


def test_every_beginning_of_a_certificate_is_refused_and_nothing_else_raised() -> None:
    whole = base64.b64decode(SUBJECTS[1]["certificate"])
    for end in range(len(whole)):
        with pytest.raises(DecodeError):
            subject(whole[:end])
