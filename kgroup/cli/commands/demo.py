"""`kgroup demo`: real log files to try commands on."""

import shlex
from pathlib import Path
from typing import Annotated, Final

import typer

from kgroup.api.demo import unpack_demo
from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import Quiet
from kgroup.cli.shell.say import say

EXAMPLES: Final = (
    Example("Unpack the captures, and see what to try", "kgroup demo"),
    Example("Have them where the examples of every help look for them", "kgroup demo fixtures"),
)


def demo(
    *,
    folder: Annotated[
        Path,
        typer.Argument(metavar="DIR", help="A new or an empty folder.", show_default=True),
    ] = Path("kgroup-demo"),
    quiet: Quiet = False,
) -> None:
    """Unpack real log files to try kgroup on.

    They are what brokers of Kafka 3.9.1 and 4.3.1 left on disk after some minutes of group activity:
    members joined, left, were killed, rewound and got stuck. Prints three commands to try on them. The
    folder takes 3 MB; delete it when you are done.
    """
    older, newer = unpack_demo(folder)
    if not quiet:
        versions = " and ".join(log_dir.parent.name for log_dir in (older, newer))
        say(f"{folder}: what brokers of Kafka {versions} left on disk; try these:")
    for words in (
        ("lag", newer, "--by", "group"),
        ("explain", "warehouse-stuck", newer),
        ("replay", older, "--group", "orders-app"),
    ):
        print(shlex.join(["kgroup", *map(str, words)]))
