"""Storages on loopback with logs on them, S3 and Google's, and what of a capture a report by URI reads."""

import shutil
import subprocess
import sys
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from kgroup.log.files.checkpoints import HIGH_WATERMARKS, LOG_STARTS, META_PROPERTIES, PARTITION_METADATA
from kgroup.log.files.log_dir import OFFSETS_TOPIC, parse_folder_name
from kgroup.spark.storage import Storage
from tests.spark.standalone import LOOPBACK, PATIENCE_S, free_port, wait_for

BUCKET = "logs"


@dataclass(frozen=True)
class LoggedStorage:
    """Where the logs are: a URI, and Hadoop's settings to get there."""

    uri: str
    settings: Mapping[str, str]


@contextmanager
def s3_server(folder: Path) -> Iterator[LoggedStorage]:
    """Yield an empty bucket of a server that wants no more than some keys; `folder` gets its log."""
    port = free_port()
    log = folder / "s3.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [sys.executable, "-m", "moto.server", "-H", LOOPBACK, "-p", str(port)],
            cwd=folder,
            stdout=stream,
            stderr=stream,
        )
    try:
        wait_for(log, "Running on", 1)
        settings = {
            "fs.s3a.endpoint": f"http://{LOOPBACK}:{port}",
            "fs.s3a.access.key": "somebody",
            "fs.s3a.secret.key": "of-loopback",
        }
        yield LoggedStorage(f"s3a://{BUCKET}", settings)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


@contextmanager
def google_server(folder: Path) -> Iterator[LoggedStorage]:
    """Yield an empty bucket of a server that asks nobody who he is; `folder` gets its log."""
    port = free_port()
    log = folder / "google.log"
    with log.open("wb") as stream:
        process = subprocess.Popen(
            [
                *(sys.executable, "-u", "-m", "gcp_storage_emulator", "start", "--in-memory"),
                *("--host", LOOPBACK, "--port", str(port), "--default-bucket", BUCKET),
            ],
            cwd=folder,
            stdout=stream,
            stderr=stream,
        )
    try:
        wait_for(log, "All services started", 1)
        settings = {"fs.gs.storage.root.url": f"http://{LOOPBACK}:{port}/"}
        yield LoggedStorage(f"gs://anonymous@{BUCKET}", settings)
    finally:
        process.terminate()
        process.wait(PATIENCE_S)


def copy_what_counts(capture: Path, to: Path) -> Path:
    """The offsets topic, checkpoints and topic ids of a capture: what is read of a log directory by URI."""
    for path in sorted(capture.rglob("*")):
        of_offsets = parse_folder_name(path.parent.name)[0] == OFFSETS_TOPIC
        if path.name in (HIGH_WATERMARKS, LOG_STARTS, META_PROPERTIES, PARTITION_METADATA) or (
            of_offsets and path.suffix in (".log", ".index") and path.stat().st_size < 10 << 20
        ):
            copy = to / path.relative_to(capture)
            copy.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, copy)
    return to


def put(storage: LoggedStorage, folder: Path) -> None:
    """Copy a folder to the storage, under its name."""
    system, root = Storage(storage.settings).open(storage.uri)
    if root == BUCKET:
        from pyarrow.fs import S3FileSystem

        endpoint = storage.settings["fs.s3a.endpoint"]
        maker = S3FileSystem(
            access_key=storage.settings["fs.s3a.access.key"],
            secret_key=storage.settings["fs.s3a.secret.key"],
            endpoint_override=endpoint,
            allow_bucket_creation=True,
        )
        maker.create_dir(BUCKET)
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    for parent in sorted({path.parent for path in files}):
        system.create_dir(f"{root}/{parent.relative_to(folder.parent)}", recursive=True)

    def put_one(path: Path) -> None:
        with system.open_output_stream(f"{root}/{path.relative_to(folder.parent)}") as stream:
            stream.write(path.read_bytes())

    with ThreadPoolExecutor(16) as pool:
        list(pool.map(put_one, files))
