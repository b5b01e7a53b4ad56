"""Histories of a register short enough to order by hand: w is a write, r a read."""

from kgroup.sim.watch.register import Register


def test_a_read_brings_the_last_write() -> None:
    register = Register(-1)
    register.wrote(register.write(5, 1), 2)
    assert register.read(5, 3)
    assert not register.read(-1, 4)


def test_an_open_write_may_be_seen_or_not() -> None:
    register = Register(-1)
    register.write(5, 1)
    assert register.read(-1, 2)
    assert register.read(5, 3)


def test_what_was_seen_stays() -> None:
    """w(5) is open, r gives 5: no later read can give what was there before."""
    register = Register(-1)
    register.write(5, 1)
    assert register.read(5, 2)
    assert not register.read(-1, 3)


def test_two_writes_at_the_same_time_have_either_order_but_one() -> None:
    register = Register(-1)
    first, second = register.write(5, 1), register.write(6, 2)
    register.wrote(first, 3)
    register.wrote(second, 4)
    assert register.values == {5, 6}
    assert register.read(5, 5)
    assert not register.read(6, 6)


def test_a_refused_write_is_never_seen() -> None:
    register = Register(-1)
    register.refused(register.write(5, 1))
    assert not register.read(5, 2)


def test_a_write_that_can_no_longer_take_effect_does_not_come_later() -> None:
    register = Register(-1)
    register.wrote(register.write(5, 1), 2, must=False)
    assert register.read(-1, 3)
    assert not register.read(5, 4)


def test_after_a_surprise_it_goes_on_from_what_was_read() -> None:
    register = Register(-1)
    assert not register.read(7, 1)
    assert register.read(7, 2)
