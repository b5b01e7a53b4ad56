"""kgroup's folder in a stream's checkpoint, anywhere that Spark can write.

What is in it are folders that Spark writes, each of one Parquet file and whole when `_SUCCESS` is in it.
"""

from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager
from typing import TYPE_CHECKING, Any, Final

from kgroup.errors import InputError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_DONE: Final = "_SUCCESS"
_FILE: Final = ".parquet"


class CheckpointFolder:
    """The folder `name` in a checkpoint."""

    def __init__(self, session: "SparkSession", checkpoint: str, name: str) -> None:
        self._session = session
        self._checkpoint = checkpoint
        self._name = name

    def path(self, name: str) -> str:
        """The path of a file in it."""
        return f"{self._checkpoint.rstrip('/')}/{self._name}/{name}"

    def check_version(self, kind: str) -> None:
        """Raises InputError where the checkpoint has folders of this kind, and none that is this one."""
        there = [name for name in self._names(self._checkpoint) if name.startswith(kind)]
        if there and self._name not in there:
            raise InputError(
                f"--checkpoint {self._checkpoint}: made by another version of kgroup, which this one cannot"
                " go on from; give a new folder, and the log is read from its beginning"
            )

    def names(self) -> list[str]:
        """All that is in it."""
        return self._names(self.path(""))

    def whole(self) -> set[str]:
        """The names in it that have Spark's mark and the one file."""
        return {
            name
            for name in self.names()
            if {_DONE, _FILE} <= {_kind_of(file) for file in self._names(self.path(name))}
        }

    def bytes_of(self, name: str) -> int:
        """The size of one on its file system."""
        files, folder = self._hadoop(self.path(name))
        return int(files.getContentSummary(folder).getLength())

    def remove(self, name: str = "") -> None:
        """Remove one, or all that is in it."""
        files, folder = self._hadoop(self.path(name))
        files.delete(folder, True)

    def damaged(self, why: str) -> InputError:
        """The error to raise for damage."""
        return damaged(self._checkpoint, why)

    def damage_named(self) -> AbstractContextManager[None]:
        """See the function of this name."""
        return damage_named(self._checkpoint)

    def _names(self, path: str) -> list[str]:
        files, folder = self._hadoop(path)
        return [each.getPath().getName() for each in files.listStatus(folder)] if files.exists(folder) else []

    def _hadoop(self, path: str) -> tuple[Any, Any]:
        """The file system of a path, and the path as it takes it."""
        jvm: Any = self._session._jvm
        hadoop_path = jvm.org.apache.hadoop.fs.Path(path)
        return hadoop_path.getFileSystem(self._session._jsc.hadoopConfiguration()), hadoop_path


def _kind_of(file: str) -> str:
    return _FILE if file.endswith(_FILE) else file


def damaged(checkpoint: str, why: str) -> InputError:
    """The error to raise for a checkpoint that cannot be continued from."""
    return InputError(
        f"--checkpoint {checkpoint}: damaged: {why}; give a new folder, and the log is read from its"
        " beginning"
    )


@contextmanager
def damage_named(checkpoint: str) -> Iterator[None]:
    """Raise what Spark and the checksums of parts say of damage as InputError.

    What says nothing of the files is raised as it is: nobody shall give up a checkpoint for want of memory.
    """
    from py4j.protocol import Py4JError
    from pyspark.errors import PySparkException

    from kgroup.spark.failure import cause_of, says_nothing_of_files
    from kgroup.spark.parts.packing import DamagedPartError

    try:
        yield
    except DamagedPartError as error:
        raise damaged(checkpoint, str(error)) from error
    except (PySparkException, Py4JError) as error:
        if says_nothing_of_files(error):
            raise
        raise damaged(checkpoint, cause_of(error)) from error
