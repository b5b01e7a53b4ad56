"""A login frame by frame: what Kafka's SaslServerAuthenticator lets through, answers and ends."""

import base64
import hashlib
import hmac
from typing import Any

import pytest
from kafka.protocol.metadata import ApiVersionsRequest, MetadataRequest
from kafka.protocol.sasl import SaslAuthenticateRequest, SaslHandshakeRequest

from kgroup.broker.security.bearer import TokenRules
from kgroup.broker.security.credentials import Credentials
from kgroup.broker.security.login import LoginRules, LoginStep, ServerLogin
from kgroup.broker.security.scram import ScramCredential
from kgroup.protocol.bearer_token import unsecured_token
from kgroup.protocol.error_codes import ErrorCode as E
from kgroup.wire.apis import APIS
from kgroup.wire.frames import BadRequestError, read_call

PASSWORD = "wonder,land="
SALT = b"some salt of it"
BOTH = {
    mechanism: {"alice": ScramCredential.of_password(mechanism, PASSWORD, SALT, 4096)}
    for mechanism in ("SCRAM-SHA-256", "SCRAM-SHA-512")
}


class Client:
    """One connection's frames, and the clock."""

    def __init__(self, *mechanisms: str, max_reauth_ms: int = 0, **credentials: Any) -> None:
        rules = LoginRules(
            mechanisms=mechanisms or ("PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"),
            credentials=Credentials(**(credentials or {"plain": {"alice": PASSWORD}, "scram": BOTH})),
            lifetimes_ms=dict.fromkeys(("PLAIN", "SCRAM-SHA-256", "OAUTHBEARER"), max_reauth_ms),
            new_nonce=lambda: "of-the-server",
        )
        self.login = ServerLogin(rules, lambda frame: read_call(frame, 1, "/127.0.0.1", APIS))
        self.now_ms = 1000

    def send(self, request: Any) -> LoginStep:
        request.with_header(7, "tester")
        return self.login.take(bytes(request.encode(header=True)), self.now_ms)

    def ask(self, request: Any) -> Any:
        return self.answer(request, self.send(request))

    def answer(self, request: Any, step: LoginStep) -> Any:
        assert step.answer is not None
        response = APIS[request.API_KEY].response
        return response.decode(step.answer[4:], version=request.API_VERSION, header=True)

    def shake(self, mechanism: str, version: int = 1) -> Any:
        return self.ask(SaslHandshakeRequest(version=version, mechanism=mechanism))

    def authenticate(self, token: bytes, version: int = 2) -> tuple[Any, str | None]:
        request = SaslAuthenticateRequest(version=version, auth_bytes=token)
        step = self.send(request)
        return self.answer(request, step), step.why

    def plain(self, user: str = "alice", password: str = PASSWORD, acting_as: str = "") -> Any:
        self.shake("PLAIN")
        return self.authenticate(f"{acting_as}\0{user}\0{password}".encode())

    def scram(
        self, mechanism: str, user: str = "alice", password: str = PASSWORD, nonce: str | None = None
    ) -> Any:
        """RFC 5802 from the client's side, written from the RFC."""
        self.shake(mechanism)
        escaped = user.replace("=", "=3D").replace(",", "=2C")
        bare = f"n={escaped},r=of-the-client"
        first, why = self.authenticate(f"n,,{bare}".encode())
        if why is not None:
            return first, why
        said = bytes(first.auth_bytes).decode()
        fields = dict(part.split("=", 1) for part in said.split(","))
        name = "sha" + mechanism.rpartition("-")[2]
        salted = hashlib.pbkdf2_hmac(name, password.encode(), base64.b64decode(fields["s"]), int(fields["i"]))
        client_key = hmac.digest(salted, b"Client Key", name)
        unproven = f"c=biws,r={nonce or fields['r']}"
        message = f"{bare},{said},{unproven}".encode()
        signature = hmac.digest(hashlib.new(name, client_key).digest(), message, name)
        proof = bytes(a ^ b for a, b in zip(client_key, signature, strict=True))
        last, why = self.authenticate(f"{unproven},p={base64.b64encode(proof).decode()}".encode())
        if why is None:
            server_key = hmac.digest(salted, b"Server Key", name)
            expected = base64.b64encode(hmac.digest(server_key, message, name))
            assert bytes(last.auth_bytes) == b"v=" + expected
        return last, why


@pytest.mark.parametrize("mechanism", ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"])
def test_who_knows_the_password_is_in(mechanism: str) -> None:
    client = Client()
    answer, why = client.plain() if mechanism == "PLAIN" else client.scram(mechanism)
    assert (answer.error_code, answer.session_lifetime_ms, why) == (E.NONE, 0, None)
    assert client.login.principal == "User:alice" and client.login.is_over


SCRAM_REFUSAL = "Authentication failed during authentication due to invalid credentials with SASL mechanism "


@pytest.mark.parametrize(
    ("mechanism", "user", "password", "why"),
    [
        ("PLAIN", "alice", "wrong", "Authentication failed: Invalid username or password"),
        ("PLAIN", "mallory", PASSWORD, "Authentication failed: Invalid username or password"),
        ("PLAIN", "", PASSWORD, "Authentication failed: username not specified"),
        ("PLAIN", "alice", "", "Authentication failed: password not specified"),
        ("PLAIN", "alice", "a\0b", "Invalid SASL/PLAIN response: expected 3 tokens, got 4"),
        ("SCRAM-SHA-256", "alice", "wrong", SCRAM_REFUSAL + "SCRAM-SHA-256"),
        ("SCRAM-SHA-512", "mallory", PASSWORD, SCRAM_REFUSAL + "SCRAM-SHA-512"),
    ],
)
def test_who_does_not_hears_kafkas_words(mechanism: str, user: str, password: str, why: str) -> None:
    client = Client()
    answer, ended = (
        client.plain(user, password) if mechanism == "PLAIN" else client.scram(mechanism, user, password)
    )
    assert (answer.error_code, answer.error_message, ended) == (E.SASL_AUTHENTICATION_FAILED, why, why)
    assert client.login.principal is None and bytes(answer.auth_bytes) == b""


def test_nobody_acts_as_somebody_else() -> None:
    answer, why = Client().plain(acting_as="root")
    assert answer.error_code == E.SASL_AUTHENTICATION_FAILED
    assert why is not None and why.endswith("an authorization id that is different from username")
    assert Client().plain(acting_as="alice")[1] is None


def test_a_password_in_clear_is_held_against_the_scram_credential() -> None:
    client = Client(scram=BOTH)
    assert client.plain()[1] is None
    assert Client(scram=BOTH).plain(password="wrong")[1] is not None
    assert Client(scram=BOTH).plain(user="mallory")[1] is not None


def test_a_name_with_commas_and_equals_signs() -> None:
    name = "a,b=c"
    users = {"SCRAM-SHA-256": {name: BOTH["SCRAM-SHA-256"]["alice"]}}
    client = Client(scram=users)
    assert client.scram("SCRAM-SHA-256", name)[1] is None
    assert client.login.principal == f"User:{name}"


def test_the_example_of_rfc_7677() -> None:
    credential = ScramCredential.of_password(
        "SCRAM-SHA-256", "pencil", base64.b64decode("W22ZaJ0SNY7soEsUEjb6gQ=="), 4096
    )
    client = Client(scram={"SCRAM-SHA-256": {"user": credential}})
    client.login._rules = LoginRules(
        mechanisms=("SCRAM-SHA-256",),
        credentials=client.login._rules.credentials,
        new_nonce=lambda: "%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0",
    )
    client.shake("SCRAM-SHA-256")
    first, _ = client.authenticate(b"n,,n=user,r=rOprNGfwEbeRWgbNEkqO")
    nonce = b"rOprNGfwEbeRWgbNEkqO%hvYDpWUa2RaTCAfuxFIlj)hNlF$k0"
    assert bytes(first.auth_bytes) == b"r=" + nonce + b",s=W22ZaJ0SNY7soEsUEjb6gQ==,i=4096"
    last, why = client.authenticate(b"c=biws,r=" + nonce + b",p=dHzbZapWIk4jUhN+Ute9ytag9zjfMHgsqmmiz7AndVQ=")
    assert why is None
    assert bytes(last.auth_bytes) == b"v=6rriTRBi23WpRR/wtup+mMhUZUn/dB5nLTJRsjl95G4="


@pytest.mark.parametrize(
    "last",
    [
        b"c=biws,r=of-the-client,p=AAAA",
        b"c=biws,r=of-the-clientof-the-server,p=AAAA",
        b"c=biws,r=of-the-clientof-the-server,p=A",
        b"c=biws,r=of-the-clientof-the-server",
        b"\xff\xfe",
        b"",
    ],
)
def test_a_last_message_that_proves_nothing(last: bytes) -> None:
    client = Client()
    client.shake("SCRAM-SHA-256")
    client.authenticate(b"n,,n=alice,r=of-the-client")
    answer, why = client.authenticate(last)
    assert (answer.error_code, why) == (E.SASL_AUTHENTICATION_FAILED, SCRAM_REFUSAL + "SCRAM-SHA-256")


def test_a_proof_under_another_nonce_is_none() -> None:
    """Else what somebody overheard could be said again."""
    for nonce in ("of-the-client", "of-the-clientof-another-server", "of-the-server"):
        _, why = Client().scram("SCRAM-SHA-256", nonce=nonce)
        assert why == SCRAM_REFUSAL + "SCRAM-SHA-256"


@pytest.mark.parametrize("first", [b"", b"\xff", b"y,,n=alice,r=x", b"n,,n=alice", b"p=tls,,n=alice,r=x"])
def test_a_first_message_that_is_none(first: bytes) -> None:
    client = Client()
    client.shake("SCRAM-SHA-512")
    assert client.authenticate(first)[1] == SCRAM_REFUSAL + "SCRAM-SHA-512"


# ---- states ---------------------------------------------------------------------------------------


def test_versions_may_be_asked_once_before_the_handshake() -> None:
    client = Client()
    assert client.send(ApiVersionsRequest(version=0)) == LoginStep(to_node=True)
    ended = client.send(ApiVersionsRequest(version=0))
    assert ended.answer is None and ended.why is not None


def test_versions_that_are_not_spoken_may_be_asked_before() -> None:
    """KIP-511: the answer says which are, and the client asks again."""
    client = Client()
    newer = bytes.fromhex("0012 0063 00000001 ffff 00")
    assert client.login.take(newer, 0) == LoginStep(to_node=True)
    assert client.send(ApiVersionsRequest(version=4)) == LoginStep(to_node=True)
    assert client.shake("PLAIN").error_code == E.NONE


@pytest.mark.parametrize("shaken", [False, True])
def test_any_other_request_ends_the_connection(shaken: bool) -> None:
    client = Client()
    if shaken:
        client.shake("PLAIN")
    ended = client.send(MetadataRequest(version=0, topics=[]))
    assert ended.answer is None and ended.why is not None
    assert "unexpected request of api key 3 during SASL" in ended.why


def test_a_token_before_the_handshake_ends_it_too() -> None:
    ended = Client().send(SaslAuthenticateRequest(version=2, auth_bytes=b"\0alice\0" + PASSWORD.encode()))
    assert ended.answer is None and ended.why is not None


def test_a_frame_that_is_no_request() -> None:
    with pytest.raises(BadRequestError):
        Client().login.take(b"GET", 0)


def test_a_mechanism_that_is_not_enabled_is_told_which_are() -> None:
    client = Client("SCRAM-SHA-512")
    request = SaslHandshakeRequest(version=1, mechanism="PLAIN")
    step = client.send(request)
    answer = client.answer(request, step)
    assert (answer.error_code, answer.mechanisms) == (E.UNSUPPORTED_SASL_MECHANISM, ["SCRAM-SHA-512"])
    assert step.why is not None


@pytest.mark.parametrize("password", [PASSWORD, "wrong"])
def test_after_a_handshake_of_version_0_tokens_come_bare(password: str) -> None:
    client = Client()
    client.shake("PLAIN", version=0)
    step = client.login.take(f"\0alice\0{password}".encode(), 0)
    if password == PASSWORD:
        assert step == LoginStep(answer=b"\0\0\0\0") and client.login.principal == "User:alice"
    else:
        assert step.answer is None and step.why is not None and client.login.principal is None


# ---- logging in again (KIP-368) ---------------------------------------------------------------------


def test_a_session_with_a_lifetime_can_be_renewed_and_expires() -> None:
    client = Client(max_reauth_ms=5000)
    answer, _ = client.plain()
    assert answer.session_lifetime_ms == 5000 and not client.login.is_over
    client.now_ms += 4000
    assert client.send(MetadataRequest(version=0, topics=[])) == LoginStep(to_node=True)
    assert client.plain()[0].session_lifetime_ms == 5000
    client.now_ms += 4999
    assert client.send(MetadataRequest(version=0, topics=[])) == LoginStep(to_node=True)
    client.now_ms += 1
    with pytest.raises(BadRequestError, match="expired"):
        client.send(MetadataRequest(version=0, topics=[]))


def test_renewing_is_possible_after_the_session_has_expired() -> None:
    client = Client(max_reauth_ms=5000)
    client.plain()
    client.now_ms += 60_000
    assert client.plain()[1] is None


def test_twice_within_a_second_is_too_often() -> None:
    client = Client(max_reauth_ms=5000)
    client.plain()
    client.plain()
    client.now_ms += 999
    assert client.send(SaslHandshakeRequest(version=1, mechanism="PLAIN")) == LoginStep(to_node=True)


def test_again_means_the_same_user_by_the_same_mechanism() -> None:
    client = Client(max_reauth_ms=5000, plain={"alice": "a", "bob": "b"}, scram=BOTH)
    client.plain("alice", "a")
    answer, why = client.plain("bob", "b")
    assert why == "Cannot change principals during re-authentication from User.alice: User.bob"
    assert answer.error_code == E.SASL_AUTHENTICATION_FAILED and client.login.principal is None
    client = Client(max_reauth_ms=5000)
    client.plain()
    client.shake("SCRAM-SHA-256")
    ended = client.send(SaslAuthenticateRequest(version=2, auth_bytes=b"n,,n=alice,r=x"))
    assert ended.answer is None
    assert ended.why is not None and ended.why.endswith("for re-authentication of mechanism 'PLAIN'")


# ---- OAUTHBEARER: the session ends with the token -------------------------------------------------------


def bearer(client: Client, expires_ms: int, user: str = "alice") -> Any:
    client.shake("OAUTHBEARER")
    token = unsecured_token({"sub": user, "exp": expires_ms / 1000})
    return client.authenticate(f"n,,\x01auth=Bearer {token}\x01\x01".encode())


@pytest.mark.parametrize(("max_reauth_ms", "lifetime_ms"), [(0, 5000), (3000, 3000), (9000, 5000)])
def test_a_session_by_token_ends_with_the_token_or_before(max_reauth_ms: int, lifetime_ms: int) -> None:
    client = Client("OAUTHBEARER", max_reauth_ms=max_reauth_ms, tokens=TokenRules())
    answer, why = bearer(client, client.now_ms + 5000)
    assert (answer.session_lifetime_ms, why) == (lifetime_ms, None)
    assert client.login.principal == "User:alice" and not client.login.is_over
    client.now_ms += lifetime_ms - 1
    assert client.send(MetadataRequest(version=0, topics=[])) == LoginStep(to_node=True)
    client.now_ms += 1
    with pytest.raises(BadRequestError, match="expired"):
        client.send(MetadataRequest(version=0, topics=[]))
    assert bearer(client, client.now_ms + 5000)[1] is None


def test_a_refused_token_is_told_first_and_ends_the_connection_next() -> None:
    client = Client("OAUTHBEARER", tokens=TokenRules())
    answer, why = bearer(client, client.now_ms)
    assert (answer.error_code, answer.auth_bytes, why) == (E.NONE, b'{"status":"invalid_token"}', None)
    answer, why = client.authenticate(b"\x01")
    assert (answer.error_code, why) == (E.SASL_AUTHENTICATION_FAILED, '{"status":"invalid_token"}')
    assert client.login.principal is None
