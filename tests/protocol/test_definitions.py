"""Kafka's message definitions, where they lie."""

import os
import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import kgroup


def test_they_are_found_in_a_kgroup_that_is_one_archive(tmp_path: Path) -> None:
    """As executors may have it."""
    package = Path(kgroup.__file__).parent
    archive = tmp_path / "kgroup.zip"
    with ZipFile(archive, "w") as made:
        for path in [*package.rglob("*.py"), *package.rglob("*.json")]:
            made.write(path, path.relative_to(package.parent))
    read = "from kgroup.protocol import definitions as d; "
    read += "print(d.__file__, d.definition('OffsetCommitKey').name)"
    answer = subprocess.run(
        [sys.executable, "-c", read],
        env={**os.environ, "PYTHONPATH": str(archive)},
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert answer.stdout.split() == [str(archive / "kgroup/protocol/definitions.py"), "OffsetCommitKey"]
