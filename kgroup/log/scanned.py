"""What is read of a log of the offsets topic for one report, by whichever way it is read."""

from dataclasses import dataclass

from kgroup.log.scan import Newest
from kgroup.log.scan_history import History
from kgroup.log.scan_last import LastCommits


@dataclass(frozen=True, slots=True)
class Scanned:
    """The newest record of each key; where they were wanted, last commits, and what was before."""

    newest: Newest
    last: LastCommits | None = None
    history: History | None = None
