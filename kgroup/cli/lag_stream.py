"""`lag-report --spark --stream`: a live cluster's report again and again, each time from what is new."""

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from kgroup.errors import InputError
from kgroup.report.emit import OutputFormat, OutputOptions, Row

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from pyspark.sql import SparkSession

    from kgroup.cli.lag_inputs import LagInputs
    from kgroup.log.scan import Newest
    from kgroup.log.scan_last import LastCommits
    from kgroup.net.properties import ConnectionOptions
    from kgroup.report.emit import Column
