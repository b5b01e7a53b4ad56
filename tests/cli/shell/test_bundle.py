from dataclasses import dataclass
from inspect import Parameter, signature
from typing import Annotated

import pytest

from kgroup.cli.shell.bundle import Bundle, unbundled


@dataclass(frozen=True, kw_only=True)
class Place:
    host: str = "localhost"
    port: int = 9092


def text_of(sep: str, address: Annotated[Place, Bundle(Place)]) -> str:
    return f"{address.host}{sep}{address.port}"


def test_the_parameters_of_a_bundle_stand_in_its_place():
    def command(first: int, address: Annotated[Place, Bundle(Place)], last: bool = False) -> None:
        """What it does."""

    options = signature(unbundled(command)).parameters
    assert list(options) == ["first", "host", "port", "last"]
    assert {option.kind for option in options.values()} == {Parameter.KEYWORD_ONLY}
    assert (options["port"].annotation, options["port"].default) == (int, 9092)
    assert unbundled(command).__doc__ == "What it does."


def test_the_command_gets_what_is_made_of_them():
    def command(address: Annotated[Place, Bundle(Place)], last: int) -> tuple[Place, int]:
        return address, last

    assert unbundled(command)(host="broker", port=1, last=2) == (Place(host="broker", port=1), 2)


def test_a_bundle_may_be_made_of_another():
    def command(where: Annotated[str, Bundle(text_of)]) -> str:
        return where

    assert list(signature(unbundled(command)).parameters) == ["sep", "host", "port"]
    assert unbundled(command)(sep="/", host="broker", port=1) == "broker/1"


def test_a_bundle_may_have_the_name_of_one_of_its_options():
    def command(port: Annotated[Place, Bundle(Place)]) -> Place:
        return port

    assert unbundled(command)(host="broker", port=1) == Place(host="broker", port=1)


def test_no_two_options_have_one_name():
    def command(host: str, address: Annotated[Place, Bundle(Place)]) -> None: ...

    with pytest.raises(ValueError, match="duplicate parameter name: 'host'"):
        unbundled(command)
