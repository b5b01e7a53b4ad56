"""Checks a report against its cited records: derives every claim and every sentence again."""

import json
from collections.abc import Iterator, Mapping, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Final

from kgroup.api.incident.derive import derive
from kgroup.api.incident.evidence import DataBatch, Evidence, EvidenceReader, place_of
from kgroup.api.opened import OpenedLogs
from kgroup.api.replay import Item
from kgroup.errors import InputError, SourceError
from kgroup.input_files import read_input_file
from kgroup.log.files.log_dir import OFFSETS_TOPIC
from kgroup.protocol.records.entries import LoggedEntry, OffsetGap
from kgroup.report.incident import markdown, page
from kgroup.report.incident.claims import Cited, Claim, Incident, from_json, to_json
from kgroup.report.progress import NO_PROGRESS, Progress

_SHOWN: Final = 300
_BYTES_MAX: Final = 256 * 1024 * 1024


@dataclass(frozen=True, slots=True)
class Checked:
    """The number of claims, and a line for each that does not hold, with its number."""

    claims: int
    failures: tuple[str, ...]


def rendered(incident: Incident, form: str) -> str:
    """The file as md, html or json."""
    if form == "md":
        return markdown.markdown(incident)
    if form == "html":
        return page.page(incident)
    return json.dumps(to_json(incident), indent=1) + "\n"


def read_report(path: Path) -> tuple[Incident, str]:
    """A report, and whether it is md, html or json. Raises InputError or SourceError with the path."""
    text = _text_of(path)
    form = "json" if text.lstrip().startswith("{") else "html" if text.startswith("<!DOCTYPE") else "md"
    try:
        match form:
            case "json":
                data = json.loads(text)
            case "html":
                data = page.claims_in(text)
            case _:
                data = markdown.claims_in(text)
        return from_json(data), form
    except (json.JSONDecodeError, RecursionError) as error:
        raise InputError(f"{path}: its claims are not JSON: {error}") from error
    except InputError as error:
        raise InputError(f"{path}: {error}") from error


def _text_of(path: Path) -> str:
    content = read_input_file(path, kind="report", bytes_max=_BYTES_MAX)
    try:
        return content.decode()
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not a kgroup report: byte {error.start} is not UTF-8") from error


def check_report(path: Path, logs: OpenedLogs, *, progress: Progress = NO_PROGRESS) -> Checked:
    """Derive every claim of a report from what it cites, as it stands in these logs.

    A claim holds if all that it cites is there, if that alone gives its answer, and if the report's text is
    what the claims make. Raises as `read_report` does, and SourceError if a log cannot be read.
    """
    incident, form = read_report(path)
    of_offsets = [cited for claim in incident.claims for cited in claim.cited if cited.topic == OFFSETS_TOPIC]
    reader = EvidenceReader(logs, {cited.partition for cited in of_offsets})
    wanted = {
        (cited.partition, offset) for cited in of_offsets if not cited.missing for offset in _offsets(cited)
    }
    items: dict[tuple[int, int], LoggedEntry] = {}
    gaps: set[OffsetGap] = set()
    with progress.counted_bytes("reading", reader.total_bytes) as advance:
        for item in reader.items(lambda group: True, advance):
            if isinstance(item, OffsetGap):
                gaps.add(item)
            elif (item.partition, item.offset) in wanted:
                items[item.partition, item.offset] = item
    there = _There(reader, items, gaps)
    failures: list[str] = []
    for number, claim in enumerate(incident.claims, 1):
        failures += (
            f"claim {number} ({claim.kind.value}, {claim.group}): {why}" for why in there.faults(claim)
        )
    if rendered(incident, form) != _text_of(path):
        failures.append(
            "the text of the report is not what its claims say: it was changed, or by another kgroup"
        )
    return Checked(len(incident.claims), tuple(failures))


def _offsets(cited: Cited) -> range:
    if cited.last - cited.first > 10_000_000:
        raise InputError(f"{cited}: no claim of kgroup cites that many records")
    return range(cited.first, cited.last + 1)


class _There:
    """The cited evidence, as found in the logs."""

    def __init__(
        self, reader: EvidenceReader, items: Mapping[tuple[int, int], LoggedEntry], gaps: Set[OffsetGap]
    ) -> None:
        self._reader = reader
        self._items = items
        self._gaps = gaps

    def faults(self, claim: Claim) -> Iterator[str]:
        """The parts of the claim that do not hold."""
        try:
            evidence = self._evidence(claim)
            says = derive(claim.kind, claim.group, claim.question, evidence)
        except (_NotThereError, InputError, SourceError) as error:
            yield str(error)
            return
        if says != claim.says:
            yield f"the records that it cites say {_short(says)}, not {_short(dict(claim.says))}"

    def _evidence(self, claim: Claim) -> Evidence:
        items: list[Item] = []
        batches: list[DataBatch] = []
        for cited in claim.cited:
            if cited.topic != OFFSETS_TOPIC:
                self._add_batch(cited, claim, batches)
            elif cited.missing:
                items.append(self._gap(cited))
            else:
                items += (self._item(cited, offset) for offset in _offsets(cited))
        items.sort(key=place_of)
        return Evidence(items=tuple(items), batches=tuple(batches), topic_names=self._reader.topic_names)

    def _item(self, cited: Cited, offset: int) -> LoggedEntry:
        item = self._items.get((cited.partition, offset))
        if item is None:
            raise _NotThereError(f"{cited.topic}-{cited.partition}@{offset} is not there")
        return item

    def _gap(self, cited: Cited) -> OffsetGap:
        gap = OffsetGap(partition=cited.partition, first_offset=cited.first, last_offset=cited.last)
        if gap not in self._gaps:
            raise _NotThereError(f"{cited}: the hole there is another one, or none")
        return gap

    def _add_batch(self, cited: Cited, claim: Claim, batches: list[DataBatch]) -> None:
        there = self._reader.batch((cited.topic, cited.partition), cited.first)
        if not cited.missing:
            if there is None or (there.batch.base_offset, there.batch.last_offset) != cited[2:4]:
                raise _NotThereError(f"{cited} is not there")
            batches.append(there)
            return
        if not batches or batches[-1].batch.last_offset + 1 != cited.first:
            raise _NotThereError(f"{cited} does not follow a batch that is cited")
        # A log that has grown since the time of the claim says the same of that time.
        times_ms = claim.question.get("times_ms", [claim.question.get("now_ms", 0)])
        if there is not None and there.batch.max_timestamp_ms <= max(times_ms):
            raise _NotThereError(f"{cited}: there is a record")
        batches[-1] = replace(batches[-1], is_end=True)


class _NotThereError(Exception):
    """Raised if a cited item is not in the logs."""


def _short(says: object) -> str:
    text = "nothing" if says is None else json.dumps(says)
    return text if len(text) <= _SHOWN else f"{text[:_SHOWN]}…"
