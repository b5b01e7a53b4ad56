"""`kgroup fsck`: will a broker load this log?"""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Final

from kgroup.cli.shell.example import Example
from kgroup.cli.shell.options import FilePaths, Output, Quiet, new_file
from kgroup.cli.shell.say import say
from kgroup.cli.shell.section import Section, option
from kgroup.cli.shell.source import opened_paths
from kgroup.errors import FindingsError, InputError
from kgroup.report.emit import OutputFormat, emit
from kgroup.report.progress import TerminalProgress

if TYPE_CHECKING:
    from kgroup.api.fsck import Fsck

EXAMPLES: Final = (
    Example("Before a broker is started on a restored log directory", "kgroup fsck fixtures/2.4.1/lives"),
    Example(
        "Before an upgrade or a downgrade: what that version's coordinator makes of it",
        "kgroup fsck fixtures/4.3.1/lives --kafka-version 4.0.0",
    ),
    Example(
        "Save the commits of the partitions that fail, to set them again",
        "kgroup fsck /var/lib/kafka/data --kafka-version 4.1.0 --rescue offsets.json",
    ),
)


def fsck(
    *,
    paths: FilePaths = None,
    kafka_version: Annotated[
        str | None,
        option(
            "--kafka-version",
            metavar="VERSION",
            help="Judge like a broker of this version, 3.7 to 4.4. Default: the newest.",
            section=Section.SETUP,
        ),
    ] = None,
    only_bad: Annotated[
        bool, option("--bad", help="Only partitions with a problem.", section=Section.SELECTION)
    ] = False,
    rescue: Annotated[
        Path | None,
        option(
            "--rescue",
            metavar="FILE",
            callback=new_file,
            help="Write the newest commits of partitions that will not load completely to FILE: JSON, or with"
            " .csv the format of kafka-consumer-groups --from-file.",
            section=Section.OUTPUT,
        ),
    ] = None,
    output: Output,
    quiet: Quiet = False,
) -> None:
    """Check whether a broker will load this offsets topic.

    Replays every partition as that version's group coordinator does when it becomes leader, and walks
    damaged bytes as the broker does. If it fails: the file, the byte, the offset, the ticket if it is a
    known Kafka bug, and how many groups would get NOT_COORDINATOR. Also shows how much work the log cleaner
    has left, and roughly how long loading takes. Exit status 3 if anything is wrong.
    """
    from kgroup.api.fsck import fsck as check
    from kgroup.history.loading.releases import NEWEST
    from kgroup.report.fsck_rows import COLUMNS, fsck_rows, table_columns

    if not paths:
        raise InputError(
            "no PATH given: the log directory of a broker, or __consumer_offsets folders or segments"
        )
    with opened_paths(paths) as logs:
        checked = check(logs, kafka_version=kafka_version or NEWEST, progress=TerminalProgress(quiet=quiet))
    shown = checked.bad if only_bad else checked.checks
    columns = table_columns(shown) if output.format is OutputFormat.TABLE else COLUMNS
    emit(fsck_rows(shown), columns, output)
    if rescue is not None:
        _rescue(checked, rescue)
    if not quiet:
        for line in _notes(checked, kafka_version or NEWEST):
            say(line)
    if checked.bad:
        raise FindingsError(f"not well: {len(checked.bad)} of {len(checked)} partitions")


def _rescue(checked: "Fsck", path: Path) -> None:
    from kgroup.history.loading.model import Outcome
    from kgroup.report.rescue import commits_of, write_rescued

    lost = [check for check in checked if check.outcome is not Outcome.LOADS]
    if not lost:
        say(f"{path}: not written: every partition loads whole, nothing is to be rescued")
        return
    count = write_rescued(path, commits_of(check.commits for check in lost))
    say(f"{path}: {count} commits of {len(lost)} partitions")


def _notes(checked: "Fsck", version: str) -> list[str]:
    """Lines on which groups would be lost, and which other versions would load the log differently."""
    from kgroup.history.loading.model import Outcome
    from kgroup.report.table import counted

    lines = []
    unloadable = [check for check in checked if check.finding == "unloadable-log"]
    if unloadable:
        groups = sorted({group for check in unloadable for group in check.groups})
        named = ", ".join(groups[:5]) + (f" and {len(groups) - 5} more" if len(groups) > 5 else "")
        fate = "without a commit" if unloadable[0].outcome is Outcome.EMPTY else "not reachable"
        lines.append(f"{fate} on {version}: {counted(len(groups), 'group')}: {named}")
    others: dict[tuple[str, str], int] = {}
    for check in checked:
        for release, outcome in check.others.items():
            others[release, outcome.value] = others.get((release, outcome.value), 0) + 1
    alike: dict[tuple[str, int], list[str]] = {}
    for (release, verdict), count in others.items():
        alike.setdefault((verdict, count), []).append(release)
    for (verdict, count), versions in alike.items():
        lines.append(f"otherwise on {', '.join(sorted(versions))}: {verdict} ({counted(count, 'partition')})")
    if any(check.is_clean is None for check in checked):
        lines.append("no log directory's own files here: judged as after a clean shutdown")
    return lines
