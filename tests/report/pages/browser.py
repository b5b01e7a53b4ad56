"""Pages in a real browser, for tests that look at what a page has become after its script has run."""

import json
import re
import shutil
import subprocess
from pathlib import Path
from typing import Any

import pytest

CHROMIUM = shutil.which("chromium")
needs_browser = pytest.mark.skipif(
    CHROMIUM is None, reason="no chromium on the PATH (apt-get install chromium)"
)


def data_of(page: Path) -> dict[str, Any]:
    """What the page's script is given."""
    match = re.search(r"^const DATA = (.*);$", page.read_text(), re.MULTILINE)
    assert match
    data: dict[str, Any] = json.loads(match[1])
    return data


def in_browser(page: Path, fragment: str = "", *, width: int = 1280) -> str:
    """The page's document after its script has run without an error."""
    assert CHROMIUM is not None
    ended = subprocess.run(
        [
            CHROMIUM,
            "--headless",
            "--no-sandbox",
            "--disable-gpu",
            f"--window-size={width},900",
            "--virtual-time-budget=4000",
            "--enable-logging=stderr",
            f"--user-data-dir={page.parent / 'profile'}",
            "--dump-dom",
            f"file://{page}{fragment}",
        ],
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert "CONSOLE" not in ended.stderr, ended.stderr  # where errors of a script go
    return ended.stdout
