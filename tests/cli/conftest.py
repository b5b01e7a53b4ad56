import io
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest

from kgroup.cli.shell.app import main


@dataclass(frozen=True)
class Ended:
    """How a run of kgroup ended and what it wrote."""

    status: int
    out: str
    err: str


Kgroup = Callable[..., Ended]


@pytest.fixture
def kgroup(capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch) -> Kgroup:
    """Runs kgroup in this process: `kgroup("decode", "-", stdin=b"...")`."""
    monkeypatch.delenv("COLUMNS", raising=False)

    def run(*arguments: str, stdin: bytes = b"") -> Ended:
        monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(stdin)))
        with pytest.raises(SystemExit) as ended:
            main(arguments)
        written = capfd.readouterr()
        assert isinstance(ended.value.code, int)
        return Ended(ended.value.code, written.out, written.err)

    return run
