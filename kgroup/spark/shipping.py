"""kgroup as a file to ship to executors that do not have it installed.

Only kgroup itself: what it imports (pyarrow, numpy, numba and the rest of its requirements) has to be in the
executors' Python. `docs/spark.md` says how to bring a whole environment along.
"""

import zipfile
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LEFT_OUT = {"__pycache__"}


def write_package(folder: Path) -> Path:
    """Write `kgroup.zip` into a folder: the package as it is here, which Python imports from the zip."""
    package = Path(__file__).parents[1]
    path = folder / "kgroup.zip"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as archive:
        for source in sorted(package.rglob("*")):
            if source.is_file() and not _LEFT_OUT.intersection(source.parts):
                archive.write(source, source.relative_to(package.parent))
    return path


def ship(session: "SparkSession", folder: Path) -> None:
    """Put kgroup on the path of the executors' Python; `folder` must last as long as the session."""
    path = str(write_package(folder))
    if is_connected(session):
        session.addArtifacts(path, pyfile=True)
    else:
        session.sparkContext.addPyFile(path)


def is_connected(session: "SparkSession") -> bool:
    """Whether it is a session of Spark Connect, which has no JVM here."""
    from pyspark.sql.utils import is_remote

    return bool(is_remote())
