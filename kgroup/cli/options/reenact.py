"""The options of `reenact`: the stage, and how the plan is played."""

from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from kgroup.broker.security.listeners import ListenerPlan, is_loopback, read_listeners
from kgroup.cli.shell.option_checks import Clash, Rule
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError

SPEED_MIN: Final = 0.01
SPEED_MAX: Final = 1_000.0
_DEFAULT_LISTEN: Final = "127.0.0.1:9092"

RULES: Final[tuple[Rule, ...]] = (
    Clash(
        options={"--speed", "--replace", "--listen"},
        others={"--virtual"},
        reason="there is no broker that a client could reach",
    ),
    Clash(
        options={"--speed", "--replace", "--listen", "--keep", "--virtual", "--score"},
        others={"--plan"},
        reason="that plays nothing",
    ),
    Clash(options={"--score"}, others={"--replace"}, reason="the score covers only kgroup's own members"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Stage:
    """The options under "Setup", as they were given."""

    speed: Annotated[
        float,
        option(
            "--speed",
            metavar="FACTOR",
            help="Divide times and timeouts by this: 10 plays ten minutes in one. [default: 1]",
            section=Section.SETUP,
        ),
    ] = 1.0
    replaced: Annotated[
        str | None,
        option(
            "--replace",
            metavar="MEMBER",
            help="Leave this member out (its name in --plan, client id or instance id), and say where "
            "and when your own client should join.",
            section=Section.SETUP,
        ),
    ] = None
    listen: Annotated[
        str | None,
        option(
            "--listen",
            metavar="HOST:PORT",
            help="Address of the broker, on this machine only; port 0 picks a free one. "
            "[default: 127.0.0.1:9092]",
            section=Section.SETUP,
        ),
    ] = None
    topics: Annotated[
        list[str] | None,
        option(
            "--topic",
            metavar="NAME:PARTITIONS",
            help="A topic's partitions at the start, if its log shows fewer; repeatable.",
            section=Section.SETUP,
        ),
    ] = None
    virtual: Annotated[
        bool,
        option(
            "--virtual",
            help="Use a virtual clock: takes seconds and keeps the times of the log.",
            section=Section.SETUP,
        ),
    ] = False
    keep: Annotated[
        Path | None,
        option(
            "--keep",
            metavar="DIR",
            help="Keep the re-enactment's log in this new or empty folder, for replay and other commands.",
            section=Section.SETUP,
        ),
    ] = None

    def checked_speed(self) -> float:
        """Raises InputError for what no clock does."""
        if not SPEED_MIN <= self.speed <= SPEED_MAX:
            raise InputError(f"--speed {self.speed:g}: from {SPEED_MIN:g} to {SPEED_MAX:g}")
        return self.speed

    def listeners(self, nodes: int) -> tuple[ListenerPlan, ...]:
        """The brokers' listeners. Raises InputError for anything but an address of this machine alone."""
        text = self.listen or _DEFAULT_LISTEN
        host, separator, port = text.rpartition(":")
        if not separator or not port.isdecimal() or len(port) > 5 or int(port) + nodes > 1 << 16:
            raise InputError(f"--listen: {text!r} is not HOST:PORT")
        host = host.strip("[]") or "127.0.0.1"
        if not is_loopback(host):
            raise InputError(f"--listen: {host} can be reached by others; a re-enactment is for this machine")
        return read_listeners(f"PLAINTEXT://{host}:{port}", {}, nodes, "--listen")

    def partitions(self) -> dict[str, int]:
        """Topic -> partitions at the start. Raises InputError for an invalid pair."""
        counts: dict[str, int] = {}
        for text in self.topics or ():
            name, colon, count = text.rpartition(":")
            if not colon or not name or not count.isdecimal() or not 1 <= int(count) <= 10_000:
                raise InputError(f"--topic {text}: give NAME:PARTITIONS, like --topic orders:6")
            counts[name] = int(count)
        return counts
