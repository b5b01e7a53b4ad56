"""`kgroup compat` on kgroup's brokers prints what the tool printed on a real one, in the same state."""

from collections.abc import Iterator

import pytest

import kgroup.testing
from tests.cli.compat.transcript import Recorded, call, transcript
from tests.cli.conftest import Ended, Kgroup
from tests.net.usual_groups import usual_groups

_READING = ("--list", "--describe")
_ALONE = ("--validate-regex", "--version", "--bogus")


class State:
    """A cluster in the transcript's state, and how its names are there."""

    def __init__(self, kafka: kgroup.testing.Cluster, members: dict[str, str]) -> None:
        self.kafka = kafka
        self._named = {
            members["live-classic"]: "console-consumer-16fcb95e-50bd-4eeb-b297-2969afd05716",
            members["live-new"]: "UpOj8e-bTrOSeD2ffypCgA",
        }

    def as_recorded(self, text: str) -> str:
        """The ids of members and the address of the broker as in the transcript, widths included."""
        for ours, theirs in self._named.items():
            assert len(ours) == len(theirs), "widths are compared, too"
            text = text.replace(ours, theirs)
        ours = f"{self.kafka.bootstrap}  (1)"
        return text.replace(f"{ours:<25}", "127.0.0.1:9092  (1)     ")


@pytest.fixture(scope="module")
def state() -> Iterator[State]:
    with usual_groups() as kafka, kgroup.connect(kafka.bootstrap) as logs:
        from kgroup.api.groups.groups import groups

        members = {
            each.group_id: each.group.members[0].member_id for each in groups(logs) if each.group.members
        }
        yield State(kafka, members)


def recorded(*first: str) -> list[Recorded]:
    """The calls of an action, as far as the state is the one that the transcript begins with."""
    return [each for each in transcript() if each.arguments[:1] and each.arguments[0] in first]


@pytest.mark.parametrize("theirs", recorded(*_READING), ids=lambda each: each.line)
def test_what_reads_prints_the_same(kgroup: Kgroup, state: State, theirs: Recorded) -> None:
    ours = kgroup("compat", "--bootstrap-server", state.kafka.bootstrap, *theirs.arguments)
    out = state.as_recorded(ours.out)
    if theirs.line == "--describe --all-groups":
        # Recorded when empty-g had been deleted.
        empty = call("--describe --group empty-g")
        assert (out, ours.err, ours.status) == (empty.out + theirs.out, empty.err, 0)
    elif theirs.arguments[0] == "--list" and theirs.status == 0:
        # Two of the names have one place in Java's map: there the order is that of the broker's answer.
        assert (sorted(out.splitlines()), ours.err, ours.status) == (sorted(theirs.out.splitlines()), "", 0)
    else:
        assert without_set_order(ours, out) == without_set_order(theirs, theirs.out)


def without_set_order(ended: Ended | Recorded, out: str) -> tuple[str, str, int]:
    """Which of [group] and [all-groups] comes first is chance in the tool: a set without an order."""
    return out, ended.err.replace("[group], [all-groups]", "[all-groups], [group]"), ended.status


@pytest.mark.parametrize("theirs", [*recorded(*_ALONE), call("")], ids=lambda each: each.line)
def test_what_needs_no_cluster_prints_the_same(kgroup: Kgroup, theirs: Recorded) -> None:
    ours = kgroup("compat", "--bootstrap-server", "127.0.0.1:1", *theirs.arguments)
    assert (ours.out, ours.err, ours.status) == (theirs.out, theirs.err, theirs.status)


def test_every_call_of_the_transcript_that_reads_is_compared() -> None:
    compared = [*recorded(*_READING), *recorded(*_ALONE), call("")]
    writing = recorded("--reset-offsets", "--delete", "--delete-offsets")
    assert len(compared) == 27
    assert len(compared) + len(writing) == len(transcript())


def test_a_group_that_is_none_of_consumers_is_refused_as_the_tool_does(kgroup: Kgroup, state: State) -> None:
    ours = kgroup("compat", "--bootstrap-server", state.kafka.bootstrap, "--describe", "--group", "")
    assert ours.status == 0
    assert ours.out == (
        "\nError: Executing consumer group command failed due to"
        " org.apache.kafka.common.errors.InvalidGroupIdException: The group id is invalid.\n"
    )


def test_a_cluster_that_is_not_there_is_kgroups_own_line(kgroup: Kgroup) -> None:
    ours = kgroup("compat", "--bootstrap-server", "127.0.0.1:1", "--list")
    assert (ours.status, ours.out) == (1, "")
    assert ours.err == (
        "kgroup: no broker answers: 127.0.0.1:1: Connection refused; is this the host and port of a broker"
        " that is up?\n"
    )


def test_a_timeout_that_is_no_number_fails_as_in_the_tool(kgroup: Kgroup) -> None:
    ours = kgroup("compat", "--bootstrap-server", "127.0.0.1:1", "--list", "--timeout", "abc")
    why = "Cannot parse argument 'abc' of option timeout"
    assert (ours.status, ours.err) == (0, f"joptsimple.OptionArgumentConversionException: {why}\n")
    assert ours.out == f"\nError: Executing consumer group command failed due to {why}\n"
