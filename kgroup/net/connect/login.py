"""Logging in to a broker: kafka-python's SASL mechanisms, one conversation for each connection."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from kgroup.errors import SourceError


class Login:
    """A mechanism with the user's name and secret, as `properties.client_config` has read them."""

    def __init__(self, config: Mapping[str, object]) -> None:
        self.mechanism = str(config["sasl_mechanism"])
        self._config = {name: value for name, value in config.items() if name.startswith("sasl_")}

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
