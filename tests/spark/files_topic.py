"""A live offsets topic for executors: real brokers' files, cut and sent as a broker would."""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from kgroup.net.admin.raw_logs import batch_boundary, copy_what_is_there, offsets_spans
from tests.net.broker_with_files import BrokerWithFiles


@dataclass(frozen=True, slots=True)
class FilesTopic:
    """Has the first segment of each partition in `capture`, and sends 10 kB or a batch at a time."""

    capture: str
    name: str = "test:9092"

    @classmethod
    def of_description(cls, described: Mapping[str, str]) -> "FilesTopic":
        return cls(**described)

    def described(self) -> dict[str, str]:
        return {"capture": self.capture, "name": self.name}

    @property
    def segments(self) -> dict[int, Path]:
        folders = Path(self.capture).glob("__consumer_offsets-*")
        return {int(folder.name.rpartition("-")[2]): min(folder.glob("*.log")) for folder in sorted(folders)}

    @property
    def broker(self) -> BrokerWithFiles:
        return BrokerWithFiles(self.segments, at_most=10_000)

    def ids(self) -> tuple[str | None, object]:
        return "cluster", None

    def now_ms(self) -> int:
        """By a clock that stands still."""
        return 7

    def spans(self, leaderless: set[int] | None = None) -> dict[int, tuple[int, int]]:
        return offsets_spans(self.broker, leaderless=leaderless)

    def epoch_ends(self, epochs: Mapping[int, int]) -> dict[int, tuple[int, int] | None]:
        return dict.fromkeys(epochs)

    def epochs_before(self, offsets: Mapping[int, int]) -> dict[int, int | None]:
        return dict.fromkeys(offsets)

    def boundaries(self, spans: Mapping[int, tuple[int, int]]) -> dict[int, int]:
        return {partition: batch_boundary(self.broker, partition, *span) for partition, span in spans.items()}

    def copy(self, spans: Mapping[int, tuple[int, int]], folder: Path) -> dict[int, tuple[Path, int]]:
        return {
            partition: copy_what_is_there(self.broker, partition, span, folder)
            for partition, span in spans.items()
        }
