"""Kafka's message definitions, where they lie."""

import subprocess
import sys
from pathlib import Path
from zipfile import ZipFile

import pytest

import kgroup


@pytest.mark.parametrize("where", ["kgroup.zip", "./kgroup.zip"])
def test_they_are_found_in_a_kgroup_that_is_one_archive(tmp_path: Path, where: str) -> None:
    """As executors have it that it is shipped to."""
    package = Path(kgroup.__file__).parent
    with ZipFile(tmp_path / "kgroup.zip", "w") as made:
        for path in [*package.rglob("*.py"), *package.rglob("*.json")]:
            made.write(path, path.relative_to(package.parent))
    read = f"import sys; sys.path.insert(0, {where!r}); from kgroup.protocol import definitions as d; "
    read += "print(d.__file__, d.definition('OffsetCommitKey').name)"
    answer = subprocess.run(
        [sys.executable, "-c", read],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    assert answer.stdout.split() == [f"{where}/kgroup/protocol/definitions.py", "OffsetCommitKey"]
