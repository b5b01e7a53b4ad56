"""Lines of users, and that none of their secrets shows."""

import pytest

from kgroup.broker.security.bearer import TokenRules
from kgroup.broker.security.credentials import MECHANISMS, Credentials, parse_users, user_line
from kgroup.broker.security.scram import ScramCredential
from kgroup.errors import InputError

CREDENTIAL = ScramCredential.of_password("SCRAM-SHA-256", "secret", b"salt", 4096)


def test_a_line_is_read_as_it_was_made() -> None:
    line = user_line("bob b", "SCRAM-SHA-256", CREDENTIAL)
    other = ScramCredential.of_password("SCRAM-SHA-512", "x", b"s", 4096)
    text = f"# users\n\n{line}\nalice scram-sha-512 {other}"
    users = parse_users(text, "users")
    assert users["SCRAM-SHA-256"] == {"bob b": CREDENTIAL}
    assert users["SCRAM-SHA-512"]["alice"].proves("SCRAM-SHA-512", "x")


def test_nothing_of_a_password_is_printed() -> None:
    assert "secret" not in repr(Credentials(plain={"alice": "secret"}))
    assert str(CREDENTIAL).split(",")[1] not in repr({"alice": CREDENTIAL})


def test_nobody_is_known_by_no_password() -> None:
    assert not Credentials(plain={"alice": "a"}).knows("mallory", "")
    assert not Credentials(scram={"SCRAM-SHA-256": {"alice": CREDENTIAL}}).knows("mallory", "")


def test_who_has_a_password_in_clear_is_not_let_in_by_another() -> None:
    both = Credentials(plain={"alice": "a"}, scram={"SCRAM-SHA-256": {"alice": CREDENTIAL}})
    assert both.knows("alice", "a") and not both.knows("alice", "secret")


def test_a_mechanism_is_there_for_those_who_can_log_in_by_it() -> None:
    """PLAIN also for users of a file: a password in clear can be held against a SCRAM credential."""
    scram = Credentials(scram={"SCRAM-SHA-256": {"alice": CREDENTIAL}, "SCRAM-SHA-512": {}})
    assert [name for name in MECHANISMS if scram.can_log_in_by(name)] == ["PLAIN", "SCRAM-SHA-256"]
    plain = Credentials(plain={"alice": "a"}, scram={"SCRAM-SHA-256": {}})
    assert [name for name in MECHANISMS if plain.can_log_in_by(name)] == ["PLAIN"]
    tokens = Credentials(tokens=TokenRules())
    assert [name for name in MECHANISMS if tokens.can_log_in_by(name)] == ["OAUTHBEARER"]


@pytest.mark.parametrize(
    ("line", "why"),
    [
        ("alice SCRAM-SHA-256", "a user is USER MECHANISM CREDENTIAL; serve-ctl user-line makes one"),
        (
            "alice PLAIN password",
            "'PLAIN' is not a mechanism for a file; there are SCRAM-SHA-256, SCRAM-SHA-512",
        ),
        (
            "alice SCRAM-SHA-256 password",
            "a credential is salt=...,stored_key=...,server_key=...,iterations=...",
        ),
        (
            "alice SCRAM-SHA-256 salt=%%,stored_key=,server_key=,iterations=4096",
            "a credential is salt=...,stored_key=...,server_key=...,iterations=..., in base 64",
        ),
        (
            f"alice SCRAM-SHA-512 {CREDENTIAL}",
            "the keys of SCRAM-SHA-512 have 64 bytes each, and the salt is not empty",
        ),
        (f"alice SCRAM-SHA-256 {CREDENTIAL}".replace("4096", "64"), "iterations=64: from 4096 to 16384"),
        (f"alice SCRAM-SHA-256 {CREDENTIAL}".replace("4096", "²"), "iterations=²: a whole number is needed"),
        (f"alice 'SCRAM-SHA-256 {CREDENTIAL}", "no closing quotation"),
    ],
)
def test_a_line_that_makes_no_sense_is_named_without_its_secrets(line: str, why: str) -> None:
    with pytest.raises(InputError) as refused:
        parse_users(f"\n{line}", "users.txt")
    assert str(refused.value) == f"users.txt:2: {why}"


def test_a_user_has_one_credential_for_a_mechanism() -> None:
    line = user_line("alice", "SCRAM-SHA-256", CREDENTIAL)
    with pytest.raises(InputError, match="users:2: 'alice' is there already for SCRAM-SHA-256"):
        parse_users(f"{line}\n{line}", "users")
