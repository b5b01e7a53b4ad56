"""A process of the world, a member's or a node's: its clock, and whether it is frozen."""

from collections import deque

from kgroup.sim.world.schedule import Action, Schedule


class Process:
    """Runs what comes in at once, or, while it stands still, keeps it for later in its order."""

    def __init__(self, name: str, schedule: Schedule) -> None:
        self.name = name
        self.schedule = schedule
        self.is_running = False
        self.number = 0
        """Counts the processes of this name: what is meant for an earlier one must not reach this one."""
        self.still_until_ms = 0
        """The time at which it continues; a past time if it does not stand still."""
        self._inbox: deque[Action] = deque()
        self._skew_ms = 0
        self._clock_ms = 0
        self.jumped_ms = 0
        """When its clock jumped last, by the world's."""

    # ---- its clock --------------------------------------------------------------------------------

    def now_ms(self) -> int:
        """The time its clock shows. It never goes back: set back, it stands until the time has caught up."""
        now_ms = self.schedule.now_ms + self._skew_ms
        self._clock_ms = max(self._clock_ms, now_ms)
        return self._clock_ms

    @property
    def is_clock_ahead(self) -> bool:
        """Whether the clock was set back and stands until the time has caught up."""
        return self._clock_ms > self.schedule.now_ms + self._skew_ms

    def world_ms(self, clock_ms: int) -> int:
        """The time at which its clock will show this."""
        return clock_ms - self._skew_ms

    def skew(self, by_ms: int) -> None:
        """Make its clock jump."""
        self._skew_ms += by_ms
        self.jumped_ms = self.schedule.now_ms

    # ---- standing still ---------------------------------------------------------------------------

    @property
    def is_still(self) -> bool:
        """Whether it is paused, or waits for its disk."""
        return self.schedule.now_ms < self.still_until_ms

    def stand_still(self, until_ms: int) -> None:
        """Do nothing before then."""
        if until_ms > self.still_until_ms:
            self.still_until_ms = until_ms
            self.schedule.at(until_ms, self._go_on)

    def stir(self) -> None:
        """Stand still no longer: the process is a new one."""
        self.still_until_ms = 0
        self._inbox.clear()

    @property
    def is_free(self) -> bool:
        """Whether messages that come in are taken at once."""
        return self.still_until_ms <= self.schedule.now_ms and not self._inbox

    def deliver(self, action: Action) -> None:
        """Something came in."""
        if self.is_free:
            action()
        else:
            self._inbox.append(action)

    def _go_on(self) -> None:
        while self._inbox and not self.is_still:
            self._inbox.popleft()()
