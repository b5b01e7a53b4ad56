"""The incidents and the healthy twins as `incidents.toml` lists them, and their lives as capture folders."""

import tomllib
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

from tests.incidents.world import World

HERE = Path(__file__).parent
NAME = "incidents.toml"


@dataclass(frozen=True, slots=True, kw_only=True)
class Incident:
    """One of the 49. `life` is its function (module.name), None if no log tells it: `not_in_log` says why."""

    number: int
    family: str
    threads: tuple[str, ...]
    symptom: str
    life: str | None
    not_in_log: str | None

    @property
    def id(self) -> str:
        return f"{self.number:02}-{(self.life or 'not-in-log').rpartition('.')[2].replace('_', '-')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Twin:
    """A healthy life."""

    family: str
    life: str

    @property
    def id(self) -> str:
        return f"healthy-{self.life.rpartition('.')[2].replace('_', '-')}"


@dataclass(frozen=True, slots=True, kw_only=True)
class Library:
    """All that is played, in the list's order."""

    incidents: tuple[Incident, ...]
    twins: tuple[Twin, ...]


def read_library(folder: Path = HERE) -> Library:
    document = tomllib.loads((folder / NAME).read_text(encoding="utf-8"))
    return Library(
        incidents=tuple(_incident(entry) for entry in document["incident"]),
        twins=tuple(Twin(family=entry["family"], life=entry["life"]) for entry in document["healthy"]),
    )


def _incident(entry: dict[str, Any]) -> Incident:
    return Incident(
        number=entry["number"],
        family=entry["family"],
        threads=tuple(entry["threads"]),
        symptom=entry["symptom"],
        life=entry.get("life"),
        not_in_log=entry.get("not_in_log"),
    )


def play(life: str) -> World:
    """The world after a life, `module.function` of `lives`; the same at every call."""
    module, _, function = life.rpartition(".")
    world = World(function.replace("_", "-"))
    getattr(import_module(f"tests.incidents.lives.{module}"), function)(world)
    return world
