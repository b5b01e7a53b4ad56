"""Files beside the logs: whole, bounded, and nothing that never ends; no pipe is waited for by mistake."""

import io
import os
import re
import socket
import stat
from pathlib import Path

import pytest

from kgroup.errors import InputError, SourceError
from kgroup.input_files import endless, read_input_file, read_input_stream


def read(path: Path | str, bytes_max: int = 100) -> bytes:
    return read_input_file(path, kind="list", bytes_max=bytes_max)


def test_a_file_comes_whole(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"abc")
    assert read(tmp_path / "list") == b"abc"
    assert read(tmp_path / "list", bytes_max=3) == b"abc"
    assert read(os.devnull) == b""


def test_a_larger_one_is_refused(tmp_path: Path) -> None:
    (tmp_path / "list").write_bytes(b"abcd")
    with pytest.raises(InputError, match=re.escape(f"{tmp_path}/list: more than 3 bytes, so no list")):
        read(tmp_path / "list", bytes_max=3)
    with pytest.raises(InputError, match="standard input: more than 3 bytes"):
        read_input_stream(io.BytesIO(b"abcd"), kind="list", bytes_max=3, named="standard input")


def test_a_named_pipe_is_not_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    (tmp_path / "link").symlink_to("pipe")
    for name in ("pipe", "link"):
        with pytest.raises(SourceError, match=f"{name}: a named pipe, not a file"):
            read(tmp_path / name)


def test_devices_sockets_and_folders_are_none(tmp_path: Path) -> None:
    with socket.socket(socket.AF_UNIX) as listener:
        listener.bind(str(tmp_path / "s"))
        with pytest.raises(SourceError, match="s: a device or socket, not a file"):
            read(tmp_path / "s")
    with pytest.raises(SourceError, match="/dev/zero: a device or socket, not a file"):
        read("/dev/zero")
    with pytest.raises(SourceError, match="Is a directory"):
        read(tmp_path)
    with pytest.raises(SourceError, match="nowhere: No such file"):
        read(tmp_path / "nowhere")
    with pytest.raises(SourceError, match="null"):
        read("a\0b")


@pytest.mark.parametrize("folder", ["/dev/fd", "/proc/self/fd"])
def test_a_pipe_that_a_shell_made_is_read_up_to_its_end_or_the_limit(folder: str) -> None:
    for content, refused in ((b"abc", False), (b"x" * 101, True)):
        read_end, write_end = os.pipe()
        try:
            os.write(write_end, content)
            os.close(write_end)
            if refused:
                with pytest.raises(InputError, match="more than 100 bytes"):
                    read(f"{folder}/{read_end}")
            else:
                assert read(f"{folder}/{read_end}") == content
        finally:
            os.close(read_end)


def test_the_name_for_messages(tmp_path: Path) -> None:
    with pytest.raises(SourceError, match=r"^--option x: No such file"):
        read_input_file(tmp_path / "x", kind="list", bytes_max=1, named="--option x")


def test_what_has_an_end(tmp_path: Path) -> None:
    assert endless(tmp_path, tmp_path.stat().st_mode) is None
    assert endless(tmp_path / "f", stat.S_IFREG) is None
