"""Where a token comes from, by Kafka's properties, and the one line where there is none."""

import socket
import threading
from pathlib import Path
from typing import Any

import pytest

from kgroup.errors import InputError, KgroupError, SourceError
from kgroup.net.connect import oauth
from kgroup.net.connect.properties import ConnectionOptions, client_config
from kgroup.protocol.bearer_token import claims_of, unsecured_token
from tests.net.connect.token_server import CLIENT, SECRET, token_server
from tests.net.serve.certificates import make_certificates

PACKAGE = "org.apache.kafka.common.security.oauthbearer"
MODULE = f"{PACKAGE}.OAuthBearerLoginModule required"
HANDLER = {"sasl.login.callback.handler.class": f"{PACKAGE}.OAuthBearerLoginCallbackHandler"}
URL = "sasl.oauthbearer.token.endpoint.url"
KNOWN = f'clientId="{CLIENT}" clientSecret="{SECRET}"'
NOW_S = 1_700_000_000


def tokens(options: str = "", **properties: str) -> oauth.Tokens:
    config = client_config(
        {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "OAUTHBEARER",
            "sasl.jaas.config": f"{MODULE} {options};",
            **properties,
        }
    )
    assert config["sasl_mechanism"] == "OAUTHBEARER"
    provider = config["sasl_oauth_token_provider"]
    assert isinstance(provider, oauth.Tokens)
    return provider


@pytest.fixture
def clock(monkeypatch: pytest.MonkeyPatch) -> list[float]:
    """What time it is, to be changed."""
    now = [float(NOW_S)]
    monkeypatch.setattr(oauth.time, "time", lambda: now[0])
    return now


# ---- unsecured ----------------------------------------------------------------------------------------


def test_the_login_modules_options_make_an_unsecured_token(clock: list[float]) -> None:
    """The example of Kafka's OAuthBearerUnsecuredLoginCallbackHandler, with a number besides."""
    given = tokens(
        'unsecuredLoginStringClaim_sub="thePrincipalName" unsecuredLoginLifetimeSeconds="60"'
        ' unsecuredLoginListClaim_scope="|scopeValue1|scopeValue2" unsecuredLoginNumberClaim_level="7"'
        ' unsecuredLoginExtension_traceId="123"'
    )
    assert claims_of(given.token()) == {
        "sub": "thePrincipalName",
        "scope": ["scopeValue1", "scopeValue2"],
        "level": 7.0,
        "iat": NOW_S,
        "exp": NOW_S + 60,
    }
    assert given.extensions() == {"traceId": "123"}
    clock[0] += 5
    assert claims_of(given.token())["exp"] == NOW_S + 65  # type: ignore[index]


def test_an_unsecured_token_holds_an_hour_and_may_name_another_principal(clock: list[float]) -> None:
    given = tokens('unsecuredLoginPrincipalClaimName="azp" unsecuredLoginStringClaim_azp="app"')
    assert claims_of(given.token()) == {"azp": "app", "iat": NOW_S, "exp": NOW_S + 3600}


# ---- files --------------------------------------------------------------------------------------------


def test_a_token_from_a_file_is_read_again_for_each_login(tmp_path: Path) -> None:
    file = tmp_path / "the token"
    file.write_text(" one.two.three\n")
    given = tokens(**HANDLER, **{URL: file.as_uri()})
    assert given.token() == "one.two.three"
    file.write_text("four.five.six")
    assert given.token() == "four.five.six"


def test_a_file_that_has_expired_is_named_with_its_time(tmp_path: Path, clock: list[float]) -> None:
    file = tmp_path / "token"
    given = tokens(**HANDLER, **{URL: file.as_uri()})
    file.write_text(unsecured_token({"sub": "alice", "exp": NOW_S - 1}))
    given.token()
    assert given.hint() == f"the token expired 2023-11-14T22:13:19Z: see {URL}"
    file.write_text(unsecured_token({"sub": "alice", "exp": NOW_S + 1}))
    given.token()
    assert given.hint() == f"see {URL}"


@pytest.mark.parametrize(
    ("content", "why"),
    [("", "nothing"), ("<html> </html>", "something else"), ("one\ntwo", "something else")],
)
def test_a_file_without_a_token(tmp_path: Path, content: str, why: str) -> None:
    (tmp_path / "token").write_text(content)
    url = (tmp_path / "token").as_uri()
    with pytest.raises(SourceError) as error:
        tokens(**HANDLER, **{URL: url}).token()
    assert str(error.value) == f"{URL}={url}: no bearer token, but {why}"


# ---- an endpoint --------------------------------------------------------------------------------------


@pytest.mark.parametrize("handler", [HANDLER, {}])
def test_an_endpoint_is_asked_with_the_clients_credentials(handler: dict[str, str]) -> None:
    with token_server({"access_token": "one.two.three"}) as (server, url):
        given = tokens(
            f'{KNOWN} scope="kafka read" extension_logicalCluster="lkc-1"', **handler, **{URL: url}
        )
        assert not server.asked
        assert given.token() == "one.two.three"
    assert server.asked == [{"grant_type": ["client_credentials"], "scope": ["kafka read"]}]
    assert given.extensions() == {"logicalCluster": "lkc-1"}


def test_properties_come_before_the_options_of_the_login_module() -> None:
    """KIP-1139."""
    with token_server({"access_token": "token"}) as (_, url):
        properties = {
            URL: url,
            "sasl.oauthbearer.client.credentials.client.id": CLIENT,
            "sasl.oauthbearer.client.credentials.client.secret": SECRET,
        }
        assert tokens("clientId=other clientSecret=other", **HANDLER, **properties).token() == "token"


@pytest.mark.parametrize(
    ("answer", "kept_s"),
    [
        ({"access_token": unsecured_token({"exp": NOW_S + 100})}, 80),
        ({"access_token": "opaque", "expires_in": 50}, 40),
        ({"access_token": "opaque"}, 0),
    ],
)
def test_a_token_is_kept_for_four_fifths_of_its_life(answer: Any, kept_s: int, clock: list[float]) -> None:
    """Kafka's `sasl.login.refresh.window.factor`."""
    with token_server(answer) as (server, url):
        given = tokens(KNOWN, **HANDLER, **{URL: url})
        given.token()
        clock[0] += max(0, kept_s - 1)
        given.token()
        assert len(server.asked) == (1 if kept_s else 2)
        clock[0] += 2
        given.token()
        assert len(server.asked) == (2 if kept_s else 3)


def test_the_endpoints_tls_is_set_in_the_login_module(tmp_path: Path) -> None:
    certificates = make_certificates(tmp_path / "certificates")
    with token_server({"access_token": "token"}, certificate=certificates.server) as (server, url):
        trusting = f'{KNOWN} ssl.truststore.location="{certificates.authority}" ssl.truststore.type=PEM'
        assert tokens(trusting, **HANDLER, **{URL: url}).token() == "token"
        # The brokers' truststore is not the endpoint's.
        brokers = {"ssl.truststore.location": str(certificates.authority)}
        with pytest.raises(
            SourceError, match=r"TLS: certificate verify failed: .*; see ssl.truststore.location in"
        ):
            tokens(KNOWN, **HANDLER, **brokers, **{URL: url}).token()
        assert len(server.asked) == 1
        plain = url.replace("https", "http")
        with pytest.raises(SourceError, match=r"is https:// needed\?|https:// is needed"):
            tokens(KNOWN, **HANDLER, **{URL: plain}).token()
    with pytest.raises(SourceError, match=r"^sasl.jaas.config: ssl.truststore.location=/nope: No such file"):
        tokens(f"{KNOWN} ssl.truststore.location='/nope'", **HANDLER, **{URL: url})


def test_https_where_there_is_no_tls() -> None:
    with (
        token_server({"access_token": "token"}) as (_, url),
        pytest.raises(SourceError, match=r"TLS: .*; does it speak https"),
    ):
        tokens(KNOWN, **HANDLER, **{URL: url.replace("http", "https")}).token()


@pytest.mark.parametrize(
    ("status", "answer", "why"),
    [
        (400, {"error": "invalid_scope"}, "400 Bad Request: invalid_scope; see scope in sasl.jaas.config"),
        (404, b"<html>", "404 Not Found; is this a token endpoint?"),
        (302, {}, "302 Found; is this a token endpoint?"),
        (503, b"", "503 Service Unavailable"),
        (200, b"<html>", "its answer has no access_token; is this a token endpoint?"),
        (200, [], "its answer has no access_token; is this a token endpoint?"),
        (200, {"access_token": 7}, "its answer has no access_token; is this a token endpoint?"),
        (200, {"access_token": "one two"}, "no bearer token, but something else"),
    ],
)
def test_what_an_endpoint_says_instead_of_a_token(status: int, answer: Any, why: str) -> None:
    with token_server(answer, status=status) as (_, url):
        with pytest.raises(SourceError) as error:
            tokens(KNOWN, **HANDLER, **{URL: url}).token()
        assert str(error.value) == f"{URL}={url}: {why}"


def test_a_wrong_secret_is_one_line_without_the_secret() -> None:
    with token_server({}) as (_, url), pytest.raises(SourceError) as error:
        tokens("clientId=lag clientSecret=Secret1", **HANDLER, **{URL: url}).token()
    why = (
        "401 Unauthorized: invalid_client: Bad credentials; see clientId and clientSecret in sasl.jaas.config"
    )
    assert str(error.value) == f"{URL}={url}: {why}"


def test_an_endpoint_that_says_nothing_ends_with_the_time_out() -> None:
    with socket.create_server(("127.0.0.1", 0)) as silent:
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/"
        with pytest.raises(SourceError, match=r"no answer in 0\.15 s"):
            tokens(
                KNOWN,
                **HANDLER,
                **{URL: url, "sasl.login.connect.timeout.ms": "50", "sasl.login.read.timeout.ms": "100"},
            ).token()


@pytest.mark.parametrize(
    ("said", "why"),
    [
        (b"", "closed the connection; is https:// needed?"),
        (b"\x15\x03\x03\x00\x02\x02\x0a\r\n", "answers in TLS: https:// is needed"),
        (b"+OK\r\n", "no HTTP server answers there"),
    ],
)
def test_an_endpoint_that_is_something_else(said: bytes, why: str) -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:

        def answer() -> None:
            connection, _ = server.accept()
            connection.recv(65_536)
            connection.sendall(said)
            connection.close()

        thread = threading.Thread(target=answer)
        thread.start()
        url = f"http://127.0.0.1:{server.getsockname()[1]}/"
        with pytest.raises(SourceError) as error:
            tokens(KNOWN, **HANDLER, **{URL: url}).token()
        thread.join()
    assert str(error.value) == f"{URL}={url}: {why}"


# ---- what makes no sense ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("options", "properties", "why"),
    [
        ("", {}, "has no unsecuredLoginStringClaim_sub, which sasl.mechanism=OAUTHBEARER needs"),
        (
            'unsecuredLoginNumberClaim_sub="7"',
            {},
            "has no unsecuredLoginStringClaim_sub",
        ),
        ('unsecuredLoginStringClaim_sub="a" unsecuredLoginStringClaim_exp="7"', {}, "not to be given"),
        (
            'unsecuredLoginStringClaim_sub="a" unsecuredLoginNumberClaim_n="inf"',
            {},
            "n=inf: a number is needed",
        ),
        (
            'unsecuredLoginStringClaim_sub="a" unsecuredLoginLifetimeSeconds="1h"',
            {},
            "1h: an integer is needed",
        ),
        ('unsecuredLoginStringClaim_sub="a" unsecuredLoginExtension_auth="x"', {}, "Extension_auth"),
        ('unsecuredLoginStringClaim_sub="a" unsecuredLoginExtension_a="\x01"', {}, "Extension_a"),
        (KNOWN, HANDLER, f"{URL} is needed"),
        (KNOWN, {URL: "https://"}, "give https://HOST/PATH"),
        (KNOWN, {URL: "https://host:port/"}, "no URL; give https://HOST/PATH"),
        (KNOWN, {URL: "http://me:Secret1@host/"}, "without a user"),
        ("clientId=a", {URL: "http://host/"}, "has no clientSecret"),
        (KNOWN, {URL: "http://host/", "sasl.oauthbearer.header.urlencode": "yes"}, "true or false"),
        (KNOWN, {URL: "http://host/", "sasl.login.read.timeout.ms": "-1"}, "sasl.login.read.timeout.ms=-1"),
        (
            KNOWN,
            {"sasl.oauthbearer.jwt.retriever.class": f"{PACKAGE}.JwtBearerJwtRetriever"},
            "kgroup has Default",
        ),
        (KNOWN, {"sasl.login.callback.handler.class": "a.B"}, "a.B: kgroup has Kafka's own"),
    ],
)
def test_what_makes_no_sense_is_refused_by_name(options: str, properties: dict[str, str], why: str) -> None:
    with pytest.raises(InputError, match=why) as error:
        tokens(options, **properties)
    assert "Secret1" not in str(error.value)


def test_a_file_of_another_machine() -> None:
    with pytest.raises(KgroupError, match="a file of this machine"):
        tokens(**HANDLER, **{URL: "file://host/token"}).token()


def test_another_machine_gets_what_it_needs_of_the_file(tmp_path: Path) -> None:
    """Spark's executors connect by themselves."""
    file = tmp_path / "client.properties"
    file.write_text(f"{URL}=https://host/\nsasl.login.read.timeout.ms=7\nsasl.login.retry.backoff.ms=7\n")
    options = ConnectionOptions(bootstrap_servers="b", command_config=file).self_contained()
    assert options.properties == (f"{URL}=https://host/", "sasl.login.read.timeout.ms=7")
