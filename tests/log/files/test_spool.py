import io
import os
from contextlib import closing

from kgroup.log.files.spool import SpooledStream


class Pipe(io.BytesIO):
    """Counts what was taken, and refuses to go back."""

    def seek(self, *_):
        raise OSError("a pipe cannot go back")


def test_every_reader_begins_at_the_start():
    data = os.urandom(700_000)
    with closing(SpooledStream(Pipe(data))) as spooled:
        first, second = spooled.open(), spooled.open()
        assert first.read(10) == data[:10]
        assert second.read() == data
        assert first.read() == data[10:]


def test_no_more_is_taken_from_the_pipe_than_a_reader_wants():
    pipe = Pipe(bytes(4_000_000))
    with closing(SpooledStream(pipe)) as spooled:
        spooled.open().read(1)
    assert pipe.tell() < 1_000_000


def test_an_empty_pipe_is_at_its_end():
    with closing(SpooledStream(Pipe(b""))) as spooled:
        assert spooled.open().read() == b""
