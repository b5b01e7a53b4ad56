"""A page that help, an error or another page points to is there."""

import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
_PAGE = re.compile(r"\bdocs/[\w-]+\.md\b")


def test_every_page_that_is_named_is_there():
    named = {
        (page, str(path.relative_to(ROOT)))
        for folder, pattern in ((ROOT, "*.md"), (ROOT / "docs", "**/*.md"), (ROOT / "kgroup", "**/*.py"))
        for path in folder.glob(pattern)
        for page in _PAGE.findall(path.read_text(encoding="utf-8"))
    }
    assert len({page for page, _ in named}) > 30
    assert not [(page, by) for page, by in sorted(named) if not (ROOT / page).is_file()]
