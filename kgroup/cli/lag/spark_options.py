"""The Spark that reads the logs for `lag-report`, and how long a stream runs. No heavy imports."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Annotated, Final

from kgroup.cli.shell.option_checks import OneOf, check_options
from kgroup.cli.shell.section import Section, option
from kgroup.errors import InputError

DEFAULT_MASTER: Final = "local[*]"

ONE_ADDRESS: Final = (OneOf(options=("--master", "--remote"), several="give --master or --remote, not both"),)


@dataclass(frozen=True, slots=True, kw_only=True)
class SparkOptions:
    """The Spark to use, its settings as `key=value`, and the catalog table for the rows, if there is one.

    With `ship` executors get kgroup's code from here.
    """

    master: str = DEFAULT_MASTER
    conf: Sequence[str] = ()
    ship: bool = False
    save_as: str | None = None


def spark_options(
    spark: Annotated[bool, option("--spark", help="Let Spark read the logs.", section=Section.SPARK)] = False,
    master: Annotated[
        str | None,
        option(
            "--master",
            metavar="URL",
            help=f"{DEFAULT_MASTER} (default), spark://HOST:PORT, yarn, k8s://URL.",
            section=Section.SPARK,
        ),
    ] = None,
    remote: Annotated[
        str | None,
        option(
            "--remote",
            metavar="URL",
            help="A Spark Connect server instead: sc://HOST[:PORT].",
            section=Section.SPARK,
        ),
    ] = None,
    spark_conf: Annotated[
        list[str] | None,
        option(
            "--spark-conf", metavar="KEY=VALUE", help="A Spark setting; repeatable.", section=Section.SPARK
        ),
    ] = None,
    ship: Annotated[
        bool,
        option(
            "--ship",
            help="Send kgroup's code along to executors.",
            section=Section.SPARK,
        ),
    ] = False,
    save_as: Annotated[
        str | None,
        option(
            "--save-as",
            metavar="TABLE",
            help="Save rows in Spark's catalog, instead of printing; with --stream a view of the newest.",
            section=Section.SPARK,
        ),
    ] = None,
) -> SparkOptions | None:
    """The parsed options, None without --spark. Raises InputError for an invalid address."""
    if not spark:
        return None
    return SparkOptions(
        master=_address(master, remote), conf=tuple(spark_conf or ()), ship=ship, save_as=save_as
    )


def _address(master: str | None, remote: str | None) -> str:
    check_options(ONE_ADDRESS, {"--master": master is not None, "--remote": remote is not None})
    if remote is None:
        return master or DEFAULT_MASTER
    if not remote.startswith("sc://"):
        raise InputError(f"--remote {remote}: not the address of a Spark Connect server, sc://HOST")
    return remote


@dataclass(frozen=True, slots=True, kw_only=True)
class Streaming:
    """The options of a report without an end, as they were given."""

    stream: Annotated[
        bool,
        option(
            "--stream",
            help="With -b: report again after each micro-batch; with --stuck, what has changed.",
            section=Section.SPARK,
        ),
    ] = False
    checkpoint: Annotated[
        str | None,
        option(
            "--checkpoint",
            metavar="DIR",
            help="Where --stream keeps its state.",
            section=Section.SPARK,
        ),
    ] = None
    once: Annotated[
        bool,
        option("--once", help="Stop --stream when it has caught up.", section=Section.SPARK),
    ] = False
    every: Annotated[
        str,
        option(
            "--every",
            metavar="DURATION",
            help="Time between micro-batches.",
            section=Section.SPARK,
            show_default=True,
        ),
    ] = "10s"
    max_offsets: Annotated[
        int,
        option(
            "--max-offsets",
            metavar="N",
            min=1,
            help="Records per micro-batch.",
            section=Section.SPARK,
            show_default=True,
        ),
    ] = 1_000_000
