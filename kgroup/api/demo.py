"""The captures shipped with kgroup: files of real brokers to try commands on."""

import shutil
from importlib.resources import as_file, files
from pathlib import Path
from zipfile import ZipFile

from kgroup.errors import SourceError
from kgroup.report.destination import require_empty


def unpack_demo(folder: Path) -> list[Path]:
    """Unpack the captures into a new or an empty folder; gives their log directories, oldest Kafka first.

    A log directory is `folder/<Kafka version>/lives`, as in the project's `fixtures/`. Raises InputError if
    there is something in the folder, and SourceError if it cannot be written; no part of a capture is left
    there then.
    """
    require_empty(folder, "DIR")
    with as_file(files("kgroup.api") / "demo.zip") as packed, ZipFile(packed) as captures:
        log_dirs = sorted({folder.joinpath(*name.split("/")[:2]) for name in captures.namelist()})
        try:
            captures.extractall(folder)
        except BaseException as error:  # an interrupt, too
            for log_dir in log_dirs:
                shutil.rmtree(log_dir.parent, ignore_errors=True)
            if isinstance(error, OSError):
                raise SourceError(f"cannot write {folder}: {error.strerror or error}") from error
            raise
    return log_dirs
