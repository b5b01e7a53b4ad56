"""How long a batch takes. Times are ms."""

from kgroup.sim.world.process import Process
from kgroup.sim.world.schedule import Schedule
from kgroup.sim.world.work import Work


class Worker:
    """A process with a batch of 100 ms in hand; `done` are the times at which it was through."""

    def __init__(self) -> None:
        self.schedule = Schedule(0)
        self.process = Process("c1", self.schedule)
        self.work = Work(self.process)
        self.done: list[int] = []
        self.work.begin(100, lambda: self.done.append(self.schedule.now_ms))

    def until(self, ms: int) -> None:
        self.schedule.run(ms)


def test_a_batch_takes_its_time() -> None:
    worker = Worker()
    worker.until(1_000)
    assert worker.done == [100]


def test_what_is_left_takes_longer_while_the_user_is_slow() -> None:
    worker = Worker()
    worker.until(40)
    worker.work.slow_down(10)
    worker.until(340)
    worker.work.slow_down(1 / 10)
    worker.until(1_000)
    assert worker.done == [40 + 300 + 30], "40 at once, 30 in ten times as long, 30 at once"


def test_a_process_that_stands_still_does_nothing_meanwhile() -> None:
    worker = Worker()
    worker.until(40)
    worker.work.postpone(500)
    worker.process.stand_still(540)
    worker.until(1_000)
    assert worker.done == [600]


def test_a_batch_that_ends_while_the_process_stands_still_is_done_once_when_it_goes_on() -> None:
    """Seed 1539 of the swarm: two looks at the same work waited for each other for ever."""
    worker = Worker()
    worker.work.slow_down(1)
    worker.until(40)
    worker.process.stand_still(500)
    worker.until(1_000)
    assert worker.done == [500]


def test_dropped_work_is_never_done() -> None:
    worker = Worker()
    worker.work.drop()
    worker.until(1_000)
    assert worker.done == []
