"""Where compiled kernels are cached: a folder of the user's own, or nowhere."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from kgroup.scan.kernels.code_cache import cache_folder

COMPILE_A_KERNEL = (
    "import numpy as np\n"
    "from kgroup.scan.kernels.code_cache import cache_folder\n"
    "from kgroup.scan.kernels.compile import machine_code\n"
    "from kgroup.scan.kernels.crc import crc32c\n"
    "print(machine_code(crc32c)(np.zeros(40, np.uint8), 0, 32), cache_folder())\n"
)
VARIABLES = ("NUMBA_CACHE_DIR", "XDG_CACHE_HOME", "LOCALAPPDATA", "HOME", "XDG_RUNTIME_DIR")


@pytest.fixture(autouse=True)
def no_places(monkeypatch, tmp_path):
    for variable in VARIABLES:
        monkeypatch.delenv(variable, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    (tmp_path / "temporary").mkdir()


def test_numbas_own_variable_comes_first_then_the_users_cache_then_home(monkeypatch, tmp_path):
    assert cache_folder().parent == tmp_path / "home/.cache/kgroup"
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "xdg"))
    assert cache_folder().parent == tmp_path / "xdg/kgroup"
    monkeypatch.setenv("NUMBA_CACHE_DIR", str(tmp_path / "numba"))
    assert cache_folder().parent == tmp_path / "numba/kgroup"


def test_a_home_that_cannot_be_written_is_passed_over(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    assert cache_folder().parent.parent == tmp_path / "temporary"


def test_a_folder_that_others_can_write_to_is_not_used(tmp_path):
    shared = tmp_path / "home/.cache/kgroup"
    shared.mkdir(parents=True)
    shared.chmod(0o777)
    assert cache_folder().parent.parent == tmp_path / "temporary"


@pytest.mark.parametrize("kind", ["link", "file", "writable", "of another"])
def test_a_folder_in_temporary_that_another_may_have_made_is_not_used(kind, monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setenv("XDG_RUNTIME_DIR", str(tmp_path / "run"))
    taken = tmp_path / "temporary" / f"kgroup-{os.getuid()}"
    match kind:
        case "link":
            (tmp_path / "elsewhere").mkdir()
            taken.symlink_to(tmp_path / "elsewhere")
        case "file":
            taken.touch()
        case "writable":
            taken.mkdir()
            taken.chmod(0o770)
        case _:
            taken.mkdir(mode=0o700)
            monkeypatch.setattr(os, "getuid", lambda: taken.stat().st_uid + 1)
            assert cache_folder() is None
            return
    assert cache_folder().parent.parent == tmp_path / "run"


def test_others_may_not_look_into_the_folder(tmp_path):
    (tmp_path / "home/.cache/kgroup").mkdir(mode=0o755, parents=True)
    folder = cache_folder()
    assert [path.stat().st_mode & 0o777 for path in (folder, folder.parent)] == [0o700, 0o700]


def test_with_no_place_at_all_there_is_no_folder(monkeypatch, tmp_path):
    (tmp_path / "file").touch()
    monkeypatch.setenv("HOME", str(tmp_path / "file"))
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "file"))
    assert cache_folder() is None


def test_the_folder_is_another_for_another_cpu(monkeypatch):
    here = cache_folder()
    monkeypatch.setattr("kgroup.scan.kernels.native.cpu", lambda: ("x86_64", "generic", ""))
    assert cache_folder() != here


def test_two_processes_without_a_home_compile_at_the_same_time(tmp_path):
    environment = {name: value for name, value in os.environ.items() if name not in VARIABLES}
    environment["TMPDIR"] = str(tmp_path)
    (tmp_path / "file").touch()
    environment["HOME"] = str(tmp_path / "file")
    processes = [
        subprocess.Popen(
            [sys.executable, "-c", COMPILE_A_KERNEL],
            env=environment,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
        )
        for _ in range(2)
    ]
    answers = [process.communicate() for process in processes]
    assert answers[0] == answers[1]
    crc, folder = answers[0][0].decode().split()
    assert int(crc) == 0x8A9136AA
    assert Path(folder).parent.parent == tmp_path
    assert list(Path(folder).glob("crc.crc32c-*"))
