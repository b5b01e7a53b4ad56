"""The options of `record`: the cluster, where to record to, how much to keep."""

import re
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Final

from kgroup.cli.shell.bundle import Bundle
from kgroup.cli.shell.options import ClientProperties, ClusterName, CommandConfig, connection_options
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.times import parse_length
from kgroup.errors import InputError
from kgroup.log.recorder.retention import Retention
from kgroup.net.connect.properties import ConnectionOptions

_SIZE: Final = re.compile(r"(\d{1,15})\s*(B|[KMGT]i?B)?")
_POWERS: Final = {"": 0, "K": 1, "M": 2, "G": 3, "T": 4}
_SMALLEST: Final = 1_000_000
_SAMPLE_MAX_MS: Final = 3_600_000


def _recorded_cluster(
    bootstrap_server: Annotated[
        str | None,
        option(
            "-b",
            "--bootstrap-server",
            metavar="HOST:PORT,...",
            help="The cluster to record.",
            section=Section.SOURCE,
        ),
    ] = None,
    command_config: CommandConfig = None,
    client_properties: ClientProperties = None,
    cluster: ClusterName = None,
) -> ConnectionOptions:
    connection = connection_options(bootstrap_server, command_config, client_properties, cluster)
    if connection is None:
        raise InputError("no --bootstrap-server given: the cluster to record, as HOST:PORT")
    return connection


RecordedCluster = Annotated[ConnectionOptions, Bundle(_recorded_cluster)]


@dataclass(frozen=True, slots=True, kw_only=True)
class Recording:
    """The options under "Setup" and "Output", as they were given."""

    folder: Annotated[
        str | None,
        option(
            "--to",
            metavar="DIR",
            help="The folder of the recording, which other commands accept as PATH. It is created if needed, "
            "or continued if it exists.",
            section=Section.SETUP,
        ),
    ] = None
    retain: Annotated[
        str | None,
        option(
            "--retain",
            metavar="DURATION",
            help="Keep everything for this long, such as 7d; of older data only the newest record of each "
            "key, and no samples. Default: forever.",
            section=Section.SETUP,
        ),
    ] = None
    size_max: Annotated[
        str | None,
        option(
            "--max-size",
            metavar="SIZE",
            help="Keep no more than this, such as 10GB or 512MiB: the oldest data is thinned out in the same "
            "way. Default: no limit.",
            section=Section.SETUP,
        ),
    ] = None
    sample: Annotated[
        str,
        option(
            "--sample",
            metavar="DURATION",
            help="Record the log starts and ends of all topics at this interval.",
            section=Section.SETUP,
            show_default=True,
        ),
    ] = "10s"
    serve_metrics: Annotated[
        str | None,
        option(
            "--serve-metrics",
            metavar="[HOST:]PORT",
            help="Serve the recorder's metrics at /metrics, for Prometheus; on 127.0.0.1 by default.",
            section=Section.OUTPUT,
        ),
    ] = None

    def path(self) -> Path:
        """The folder. Raises InputError if it was not given."""
        if not self.folder:  # an empty one, of a variable that is not set, would be the working folder
            raise InputError("no --to given: the folder to record to")
        return Path(self.folder)

    def retention(self) -> Retention:
        """Raises InputError for an invalid duration or size."""
        return Retention(
            retain_ms=None if self.retain is None else parse_length(self.retain, "--retain", least="1m"),
            bytes_max=None if self.size_max is None else parse_size(self.size_max, "--max-size"),
        )

    def sample_ms(self) -> int:
        """Raises InputError for an invalid duration, or one too long for samples to fix a time."""
        length_ms = parse_length(self.sample, "--sample", least="1s")
        if length_ms > _SAMPLE_MAX_MS:
            raise InputError(f"--sample {self.sample}: more than an hour")
        return length_ms


def parse_size(text: str, name: str) -> int:
    """Bytes of `10GB` (thousands), `512MiB` (of 1024) or a number. Raises InputError that names `name`."""
    matched = _SIZE.fullmatch(text.strip())
    if matched is None:
        raise InputError(f"{name} {text}: not a size, like 10GB, 512MiB or a number of bytes")
    unit = (matched[2] or "B").removesuffix("B")
    size: int = int(matched[1]) * (1024 if unit.endswith("i") else 1000) ** _POWERS[unit.removesuffix("i")]
    if size < _SMALLEST:
        raise InputError(f"{name} {text}: less than 1MB, too small for a recording")
    return size
