"""OAUTHBEARER at a broker, by RFC 7628 and the rules of Kafka's unsecured validator."""

import base64
import json
from typing import Any

import pytest

from kgroup.broker.security.bearer import BearerExchange, TokenRules, token_rules
from kgroup.broker.security.scram import CredentialsError
from kgroup.errors import InputError

NOW_MS = 1_700_000_000_000
NOW_S = NOW_MS // 1000
INVALID = b'{"status":"invalid_token"}'


def part(fields: Any) -> str:
    return base64.urlsafe_b64encode(json.dumps(fields).encode()).rstrip(b"=").decode()


def first(header: Any = None, signature: str = "", more: str = "", authzid: str = "", **claims: Any) -> bytes:
    """A client's first message, as RFC 7628 has it; claims of None are left out."""
    given = {"sub": "alice", "iat": NOW_S - 10, "exp": NOW_S + 60, **claims}
    told = {name: value for name, value in given.items() if value is not None}
    token = f"{part(header or {'alg': 'none'})}.{part(told)}.{signature}"
    return f"n,{authzid},\x01auth=Bearer {token}{more}\x01\x01".encode()


def test_who_shows_a_token_is_its_subject_until_it_expires():
    exchange = BearerExchange(TokenRules())
    assert exchange.take(first(more="\x01traceId=1 2 3", authzid="a=alice"), NOW_MS) == b""
    assert (exchange.user, exchange.expires_ms) == ("alice", NOW_MS + 60_000)


@pytest.mark.parametrize(
    "message",
    [
        first(exp=NOW_S),
        first(exp=None),
        first(exp="soon"),
        first(exp=NOW_S - 60, iat=None),
        first(iat=NOW_S + 5),
        first(iat="now"),
        first(iat=NOW_S - 1, exp=NOW_S - 1),
        first(sub=None),
        first(sub=""),
        first(sub=7),
        first(header={"alg": "RS256"}),
        first(signature="c2lnbmVk"),
        b"n,,\x01auth=Bearer opaque\x01\x01",
    ],
)
def test_a_wrong_token_is_told_and_then_refused(message):
    exchange = BearerExchange(TokenRules())
    assert exchange.take(message, NOW_MS) == INVALID
    assert exchange.user is None
    with pytest.raises(PermissionError, match="invalid_token"):
        exchange.take(b"\x01", NOW_MS)


@pytest.mark.parametrize(
    "message",
    [
        b"",
        b"\x01",
        b"n,,auth=Bearer x",
        b"y,,\x01auth=Bearer a.b.\x01\x01",
        first()[:-1],
        b"n,,\x01auth=Basic abc\x01\x01",
    ],
)
def test_what_is_no_first_message_hears_no_reason(message):
    with pytest.raises(CredentialsError):
        BearerExchange(TokenRules()).take(message, NOW_MS)


def test_nobody_acts_as_another():
    exchange = BearerExchange(TokenRules())
    with pytest.raises(PermissionError, match="different from username"):
        exchange.take(first(authzid="a=bob"), NOW_MS)
    assert exchange.user is None


@pytest.mark.parametrize(
    ("scope", "answer"),
    [
        ("READ WRITE", b""),
        (["WRITE", "READ"], b""),
        ("READ", b'{"status":"insufficient_scope", "scope":"[READ, WRITE]"}'),
        (None, b'{"status":"insufficient_scope", "scope":"[READ, WRITE]"}'),
        ("READWRITE", b'{"status":"insufficient_scope", "scope":"[READ, WRITE]"}'),
    ],
)
def test_the_scope_that_is_required(scope, answer):
    rules = token_rules({"unsecuredValidatorRequiredScope": " READ  WRITE "})
    assert BearerExchange(rules).take(first(scope=scope), NOW_MS) == answer


def test_other_claims_and_some_skew_by_options():
    rules = token_rules(
        {
            "unsecuredValidatorPrincipalClaimName": "azp",
            "unsecuredValidatorScopeClaimName": "scp",
            "unsecuredValidatorRequiredScope": "READ",
            "unsecuredValidatorAllowableClockSkewMs": "3000",
        }
    )
    exchange = BearerExchange(rules)
    assert exchange.take(first(azp="app", scp="READ", exp=NOW_S - 2), NOW_MS) == b""
    assert exchange.user == "app"
    assert exchange.take(first(azp="app", scp="READ", exp=NOW_S - 3), NOW_MS) == INVALID


def test_the_skew_is_for_tokens_from_the_future_too():
    """A clock ahead of the broker's: Kafka allows the skew at both ends of a token's life."""
    rules = TokenRules(clock_skew_ms=30_000)
    assert BearerExchange(rules).take(first(iat=NOW_S + 30), NOW_MS) == b""
    assert BearerExchange(rules).take(first(iat=NOW_S + 35), NOW_MS) == INVALID


def test_a_token_ends_after_it_was_issued():
    rules = TokenRules(clock_skew_ms=30_000)
    assert BearerExchange(rules).take(first(iat=NOW_S + 5, exp=NOW_S + 6), NOW_MS) == b""
    assert BearerExchange(rules).take(first(iat=NOW_S + 5, exp=NOW_S + 5), NOW_MS) == INVALID


@pytest.mark.parametrize("skew", ["-1", "1.5", "soon", "9" * 30])
def test_a_skew_that_is_no_number_is_refused(skew):
    with pytest.raises(InputError, match="unsecuredValidatorAllowableClockSkewMs"):
        token_rules({"unsecuredValidatorAllowableClockSkewMs": skew})
