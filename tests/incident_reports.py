"""`python -m tests.incident_reports`: the reports of five real incidents that docs/reports/ shows, made anew.

The incidents are those of `fixtures/incidents`, played with real clients on a broker of 4.3.1.
"""

import tarfile
from collections.abc import Iterator
from contextlib import chdir, contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Final

from kgroup.api.incident.check import rendered
from kgroup.api.incident.made import incident_report
from kgroup.api.opened import OpenedLogs, open_logs

_ROOT: Final = Path(__file__).parents[1]
ARCHIVE: Final = _ROOT / "fixtures" / "incidents" / "incidents-4.3.1.tar.xz"
REPORTS: Final = _ROOT / "docs" / "reports"
GROUPS: Final = ("poll-java", "twin-static", "autoscale", "reset-duration", "oom-all")


@contextmanager
def capture() -> Iterator[OpenedLogs]:
    """The logs of the archive, unpacked, under a name that says nothing of where."""
    with TemporaryDirectory() as scratch, tarfile.open(ARCHIVE) as packed:
        packed.extractall(scratch, filter="data")
        with chdir(scratch), open_logs("at-the-end") as logs:
            yield logs


def report_of(logs: OpenedLogs, group: str) -> str:
    """The report's Markdown."""
    return rendered(incident_report(logs, groups=group), "md")


def main() -> None:
    """Write all of them."""
    REPORTS.mkdir(exist_ok=True)
    with capture() as logs:
        for group in GROUPS:
            (REPORTS / f"{group}.md").write_text(report_of(logs, group), encoding="utf-8")


if __name__ == "__main__":
    main()
