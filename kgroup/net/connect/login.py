"""Logs in to a broker: kafka-python's SASL mechanisms, one conversation per connection."""

from collections.abc import Collection, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kgroup.errors import SourceError
from kgroup.protocol.error_codes import ErrorCode


def no_handshake(node: str) -> str:
    """The words for a listener that does not know SaslHandshake."""
    return f"{node} does not speak SaslHandshake: does this listener ask for SASL?"


def refused_mechanism(node: str, mechanism: str, error_code: int, offered: Collection[str]) -> str:
    """The words for an error in the answer to SaslHandshake.

    A real broker's listener without SASL knows the request, and answers ILLEGAL_SASL_STATE (Kafka:
    `KafkaApis.handleSaslHandshakeRequest`).
    """
    if error_code == ErrorCode.ILLEGAL_SASL_STATE:
        return f"{node}: this listener asks for no login (ILLEGAL_SASL_STATE)"
    if error_code == ErrorCode.UNSUPPORTED_SASL_MECHANISM:
        return f"{node}: no sasl.mechanism={mechanism} here; there is {', '.join(offered) or 'none'}"
    return f"{node}: SaslHandshake refused: {_name(error_code)}"


def refused_login(node: str, mechanism: str, error_code: int, message: str | None) -> str:
    """The words for an error in the answer to SaslAuthenticate: the broker's own reason (KIP-152)."""
    return f"{node}: {mechanism} login refused: {message or _name(error_code)}"


def _name(error_code: int) -> str:
    try:
        return ErrorCode(error_code).name
    except ValueError:
        return f"error {error_code}"


class Login:
    """A mechanism with the user's name and secret, as `properties.client_config` has read them."""

    def __init__(self, config: Mapping[str, object]) -> None:
        self.mechanism = str(config["sasl_mechanism"])
        self._config = {name: value for name, value in config.items() if name.startswith("sasl_")}
        # `oauth.Tokens`; to import it is to import kafka-python.
        self._tokens: Any = config.get("sasl_oauth_token_provider")

    def prepare(self) -> None:
        """Get what has to be asked for elsewhere, a token. Raises SourceError if there is none."""
        if self._tokens is not None:
            self._tokens.token()

    @property
    def hint(self) -> str:
        """A hint for a refused login."""
        return "see sasl.jaas.config" if self._tokens is None else str(self._tokens.hint())

    def begin(self, host: str) -> "Conversation":
        """Talk to this host. Raises SourceError if this machine lacks the mechanism's library."""
        return Conversation(self.mechanism, host, self._config)


class Conversation:
    """Messages and the broker's answers, by turns, until `next_message` says that the login has succeeded."""

    def __init__(self, mechanism: str, host: str, config: Mapping[str, object]) -> None:
        # Takes 50 ms, and few need it.
        from kafka.net.sasl import get_sasl_mechanism

        self._title = f"{host}: {mechanism} login"
        with self._naming():
            self._mechanism: Any = get_sasl_mechanism(mechanism)(host=host, **config)

    def next_message(self) -> bytes | None:
        """The message to send now; None if the login has succeeded. Raises SourceError if it has not."""
        if not self._mechanism.is_done():
            with self._naming():
                return bytes(self._mechanism.auth_bytes())
        if not self._mechanism.is_authenticated():
            raise SourceError(f"{self._title} refused")
        return None

    def take(self, answer: bytes) -> None:
        """The answer. Raises SourceError if it does not prove that the broker, too, knows the secret."""
        with self._naming():
            self._mechanism.receive(answer)

    @contextmanager
    def _naming(self) -> Iterator[None]:
        try:
            yield
        except (ValueError, KeyError, RuntimeError) as error:
            raise SourceError(f"{self._title}: {error}") from error
