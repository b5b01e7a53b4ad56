"""Advice on the settings of groups, and a check of a client that is about to join one."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil
from pathlib import Path

from kgroup.api.lag.report import lag_report
from kgroup.api.names import names_given
from kgroup.api.opened import OpenedLogs
from kgroup.api.replay import Replayed, replay_all
from kgroup.api.tabular import Tabular
from kgroup.broker.folder_scan import METADATA_TOPIC
from kgroup.broker.metadata_log import read_metadata_log
from kgroup.errors import InputError, SourceError
from kgroup.history.advise.advise import advise as advise_group
from kgroup.history.advise.gate import client_properties, objections
from kgroup.history.advise.model import Advice, Objection, Pause, Pauses, Setting
from kgroup.history.advise.own_settings import without_effect
from kgroup.history.advise.pauses import PauseReader
from kgroup.history.timeline.model import Grade, Timeline
from kgroup.input_files import SETTINGS_BYTES_MAX, read_input_file
from kgroup.java_properties import decoded, parse_properties
from kgroup.lag.findings.model import Finding, FindingKind
from kgroup.lag.measures.offset_expiry import RETENTION_MS
from kgroup.log.files.sources import STDIN
from kgroup.log.topics.topic_logs import DataLogs
from kgroup.report.advice_rows import (
    ADVICE_COLUMNS,
    ADVICE_TABLE,
    OBJECTION_COLUMNS,
    OBJECTION_TABLE,
    advice_rows,
    objection_rows,
)
from kgroup.report.emit import Column, Row
from kgroup.report.html_table import html_table
from kgroup.report.progress import NO_PROGRESS, Progress
from kgroup.report.table import counted


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class Advised(Tabular):
    """Advice by group and setting; `groups` is the number of groups examined.

    `problems` say what could not be read, where and why; `remarks` what else was left out.
    """

    advice: tuple[Advice, ...]
    groups: int
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    def __iter__(self) -> Iterator[Advice]:
        return iter(self.advice)

    def __len__(self) -> int:
        return len(self.advice)

    def __repr__(self) -> str:
        return f"<Advised: {counted(len(self.advice), 'setting')} of {counted(self.groups, 'group')}>"

    def _repr_html_(self) -> str:
        return html_table(advice_rows(self.advice), ADVICE_TABLE)

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup advise -o parquet`."""
        return ADVICE_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each piece of advice."""
        return advice_rows(self.advice)


@dataclass(frozen=True, slots=True, kw_only=True, repr=False)
class CheckedClient(Tabular):
    """Objections to a client, by group and property. `passes` is true unless one of them is certain."""

    objections: tuple[Objection, ...]
    groups: int
    problems: tuple[str, ...] = ()
    remarks: tuple[str, ...] = ()

    @property
    def passes(self) -> bool:
        """Whether a rollout may continue."""
        return not any(objection.fails for objection in self.objections)

    def __iter__(self) -> Iterator[Objection]:
        return iter(self.objections)

    def __len__(self) -> int:
        return len(self.objections)

    def __repr__(self) -> str:
        verdict = "passes" if self.passes else "does not pass"
        return f"<CheckedClient: {verdict}, {counted(len(self.objections), 'objection')}>"

    def _repr_html_(self) -> str:
        return html_table(objection_rows(self.objections), OBJECTION_TABLE)

    def arrow_columns(self) -> Sequence[Column]:
        """The columns of `kgroup advise --check -o parquet`."""
        return OBJECTION_COLUMNS

    def arrow_rows(self) -> Iterator[Row]:
        """A row for each objection."""
        return objection_rows(self.objections)


def advise(
    logs: OpenedLogs,
    groups: str | Sequence[str] | None = None,
    *,
    retention_ms: int = RETENTION_MS,
    now_ms: int | None = None,
    progress: Progress = NO_PROGRESS,
) -> Advised:
    """Recommend settings for groups, from their history.

    `groups` are names or shell patterns; the default is all. `retention_ms` is the broker's
    offsets.retention.minutes. Lag is as of `now_ms` (epoch ms), by default the newest record in the log.
    Settings that a group has of its own come from the cluster, or from the metadata log in the log directory.
    Raises SourceError if none of the groups exists or the logs cannot be read; InputError for standard
    input, because the log is read twice.
    """
    refuse_stdin(logs)
    patterns = names_given(groups)
    reader = PauseReader()
    replayed = replay_all(logs, patterns or ["*"], progress=progress, watcher=reader)
    pauses = _at_work(logs, reader.pauses())
    report = lag_report(logs, groups=patterns, findings=True, now_ms=now_ms, progress=progress)
    growing = _growing(report.findings())
    own, untold = own_settings(logs, replayed)
    advice = [
        piece
        for timeline in replayed.values()
        for piece in (
            *advise_group(timeline, pauses.get(timeline.group_id), retention_ms),
            *_more_members(timeline, growing.get(timeline.group_id, ())),
            *without_effect(timeline, own.get(timeline.group_id, {})),
        )
    ]
    return Advised(
        advice=tuple(advice),
        groups=len(replayed),
        problems=_problems(replayed),
        remarks=(*replayed.remarks, *untold),
    )


def own_settings(logs: OpenedLogs, groups: Collection[str]) -> tuple[dict[str, dict[str, str]], list[str]]:
    """Each group's own settings, by name and value, and remarks on what is unknown."""
    if logs.cluster is not None:
        from kgroup.net.admin.group_settings import group_settings

        found, untold = group_settings(logs.cluster, groups)
        if untold:
            shown = f"{untold[0]!r}" if len(untold) == 1 else counted(len(untold), "group")
            return found, [
                f"the cluster tells no settings of {shown}: whether some have no effect is not known"
            ]
        return found, []
    own: dict[str, dict[str, str]] = {}
    remarks = []
    for folder in (log_dir.path / f"{METADATA_TOPIC}-0" for log_dir in logs.sources.log_dirs):
        if not folder.is_dir():
            continue
        try:
            own |= read_metadata_log(folder).group_configs
        except SourceError as error:
            remarks.append(f"{error}: settings of groups are not known")
    return own, remarks


def check_client(
    logs: OpenedLogs,
    properties: str | Path | Mapping[str, str],
    groups: str | Sequence[str] | None = None,
    *,
    progress: Progress = NO_PROGRESS,
) -> CheckedClient:
    """Check whether groups would refuse a client with these consumer properties, or suffer from it.

    `properties` are Kafka's names and values, or a Java properties file. `groups` defaults to its group.id.
    Raises InputError for an invalid property, or if there is no group; SourceError as `advise` does, and
    for an unreadable file.
    """
    refuse_stdin(logs)
    given = properties if isinstance(properties, Mapping) else _read(Path(properties))
    client = client_properties(given)
    patterns = names_given(groups) or ([given["group.id"]] if given.get("group.id") else None)
    if not patterns:
        raise InputError("which group? The properties have no group.id: name it")
    reader = PauseReader()
    replayed = replay_all(logs, patterns, progress=progress, watcher=reader)
    pauses = _at_work(logs, reader.pauses(), client.max_poll_interval_ms)
    objected = [
        objection
        for timeline in replayed.values()
        for objection in objections(client, timeline, pauses.get(timeline.group_id))
    ]
    return CheckedClient(
        objections=tuple(objected),
        groups=len(replayed),
        problems=_problems(replayed),
        remarks=replayed.remarks,
    )


def _at_work(
    logs: OpenedLogs, of_groups: Mapping[str, Pauses], limit_ms: int | None = None
) -> dict[str, Pauses]:
    """The same with how long there was something to read, by the topics' own logs, where that may matter."""
    data_logs = DataLogs(logs.sources.log_dirs) if logs.cluster is None else None

    def worked(pause: Pause) -> Pause:
        least_ms = pause.rebalance_timeout_ms if limit_ms is None else limit_ms
        if data_logs is None or least_ms is None or 2 * pause.length_ms < least_ms:
            return pause
        try:
            unread = data_logs.first_unread(pause.topic, pause.partition, pause.offset)
        except SourceError:
            return pause
        if unread is None or unread.timestamp_ms < 0:
            return pause
        return replace(pause, worked_ms=max(pause.to_ms - max(pause.from_ms, unread.timestamp_ms), 0))

    return {
        group_id: replace(pauses, longest=tuple(map(worked, pauses.longest)))
        for group_id, pauses in of_groups.items()
    }


def refuse_stdin(logs: OpenedLogs) -> None:
    """Raises InputError for standard input: the log is read twice."""
    if STDIN in logs.names:
        raise InputError("-: advice cannot be given on standard input, it needs files")


def _read(path: Path) -> dict[str, str]:
    content = read_input_file(path, kind="properties", bytes_max=SETTINGS_BYTES_MAX, named=f"--check {path}")
    return parse_properties(decoded(content))


def _problems(replayed: Replayed) -> tuple[str, ...]:
    return (*replayed.problems, *([replayed.missing] if replayed.missing else []))


def _growing(findings: Sequence[Finding]) -> dict[str, list[Finding]]:
    of_groups: dict[str, list[Finding]] = {}
    for finding in findings:
        if finding.kind is FindingKind.LAG_GROWING and finding.grade is not Grade.UNKNOWN:
            of_groups.setdefault(finding.group, []).append(finding)
    return of_groups


def _more_members(timeline: Timeline, growing: Sequence[Finding]) -> Iterator[Advice]:
    """The members it takes at the pace of the present ones, if there is a partition for each."""
    members = timeline.generations[-1].roster.members if timeline.generations else ()
    for finding in growing:
        read, written = finding.numbers["reading_per_s"], finding.numbers["written_per_s"]
        assert isinstance(read, float) and isinstance(written, float)
        partitions = sum(owned.topic == finding.topic for member in members for owned in member.owned)
        busy = sum(any(owned.topic == finding.topic for owned in member.owned) for member in members)
        if not busy or read <= 0:
            continue
        needed = ceil(busy * written / read)
        enough = needed <= partitions
        yield Advice(
            group=timeline.group_id,
            setting=Setting.MEMBERS,
            now=str(len(members)),
            advised=str(len(members) + min(needed, partitions) - busy)
            if enough or partitions > busy
            else f"{busy}, and {needed} partitions of {finding.topic}",
            grade=Grade.INFERRED,
            evidence=f"{counted(busy, 'member')} read {read:.1f}/s of {finding.topic}, and {written:.1f}/s"
            f" are written: at that pace it takes {needed}, and there are {counted(partitions, 'partition')}",
            numbers={
                "members": len(members),
                "members_reading": busy,
                "members_needed": needed,
                "partitions": partitions,
                "read_per_s": read,
                "written_per_s": written,
            },
            caution=None if enough else "partitions are too few for it: faster records, or more partitions",
        )
