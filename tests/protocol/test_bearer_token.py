"""Tokens of RFC 7515's and RFC 7519's appendices are read, and what is no token has no claims."""

import json

import pytest

from kgroup.protocol.bearer_token import claims_of, is_unsecured, seconds_claim, unsecured_token

RFC_7519_UNSECURED = (
    "eyJhbGciOiJub25lIn0.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9leGFtcGxlLmNvbS9pc19y"
    "b290Ijp0cnVlfQ."
)
RFC_7515_SIGNED = (
    "eyJ0eXAiOiJKV1QiLA0KICJhbGciOiJIUzI1NiJ9.eyJpc3MiOiJqb2UiLA0KICJleHAiOjEzMDA4MTkzODAsDQogImh0dHA6Ly9l"
    "eGFtcGxlLmNvbS9pc19yb290Ijp0cnVlfQ.dBjftJeZ4CVP-mB92K27uhbUJU1p1r_wW1gFWFOEjXk"
)
CLAIMS = {"iss": "joe", "exp": 1300819380, "http://example.com/is_root": True}


def test_the_rfcs_examples():
    """RFC 7519, 6.1, and RFC 7515, A.1."""
    assert claims_of(RFC_7519_UNSECURED) == claims_of(RFC_7515_SIGNED) == CLAIMS
    assert is_unsecured(RFC_7519_UNSECURED)
    assert not is_unsecured(RFC_7515_SIGNED)


def test_an_unsecured_token_has_the_header_of_the_rfc_and_no_signature():
    token = unsecured_token({"sub": "alice", "scope": ["a", "b"]})
    assert token.startswith("eyJhbGciOiJub25lIn0.") and token.endswith(".") and "=" not in token
    assert is_unsecured(token) and claims_of(token) == {"sub": "alice", "scope": ["a", "b"]}


@pytest.mark.parametrize(
    "token", ["", "a", "a.b", "..", "a.b.c", "x.W10.y", "a.b.c.d", "x.\xe9.y", "x." + "W" * 9999]
)
def test_what_is_no_token_has_no_claims(token):
    assert claims_of(token) is None
    assert not is_unsecured(token)


def test_a_signature_where_the_header_says_there_is_none_is_not_unsecured():
    assert not is_unsecured(RFC_7519_UNSECURED + "x")


@pytest.mark.parametrize(
    ("text", "seconds"),
    [
        ("1300819380", 1300819380.0),
        ("1.5", 1.5),
        ("true", None),
        ('"1"', None),
        ("null", None),
        ("Infinity", None),
        ("NaN", None),
        ("1" + "0" * 400, None),
    ],
)
def test_a_time_is_a_finite_number(text, seconds):
    assert seconds_claim(json.loads(f'{{"exp": {text}}}'), "exp") == seconds
    assert seconds_claim(None, "exp") is None
