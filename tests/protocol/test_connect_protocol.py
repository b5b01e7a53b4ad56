import pytest

from kgroup.errors import DecodeError
from kgroup.protocol.connect_protocol import assignment_text, worker_state_text

LEADER = "0006" + b"worker".hex() + "0008" + b"http://w".hex()
NO_ASSIGNMENT = (
    "Assignment{error=0, leader='null', leaderUrl='null', offset=-1, connectorIds=[], taskIds=[], "
    "revokedConnectorIds=[], revokedTaskIds=[], delay=0}"
)
# connector `sink` itself and its tasks 0 and 1
SINK = "00000001" + "0004" + b"sink".hex() + "00000003" + "ffffffff" + "00000000" + "00000001"
# its task 2
SINK_2 = "00000001" + "0004" + b"sink".hex() + "00000001" + "00000002"
NULL = "ffffffff"


def test_a_worker_of_the_eager_protocol():
    data = bytes.fromhex("0000" + "0008" + b"http://w".hex() + "0000000000000007")
    assert worker_state_text(data) == "WorkerState{url='http://w', offset=7}"


@pytest.mark.parametrize("version", ["0001", "0002", "0009"])
@pytest.mark.parametrize("allocation", [NULL, ""])
def test_a_worker_that_runs_nothing_may_say_so_or_say_nothing(version, allocation):
    data = bytes.fromhex(version + "0008" + b"http://w".hex() + "ffffffffffffffff" + allocation)
    assert worker_state_text(data) == f"WorkerState{{url='http://w', offset=-1, {NO_ASSIGNMENT}}}"


def test_a_worker_tells_its_present_assignment():
    assignment = "0001" + "0000" + LEADER + "0000000000000005" + SINK + NULL + "00000000"
    front = "0002" + "0008" + b"http://w".hex() + "0000000000000005"
    data = bytes.fromhex(front + f"{len(assignment) // 2:08x}" + assignment)
    assert worker_state_text(data) == (
        "WorkerState{url='http://w', offset=5, Assignment{error=0, leader='worker', leaderUrl='http://w', "
        "offset=5, connectorIds=[sink], taskIds=[sink-0, sink-1], revokedConnectorIds=[], "
        "revokedTaskIds=[], delay=0}}"
    )


def test_an_assignment_of_the_eager_protocol():
    data = bytes.fromhex("0000" + "0001" + LEADER + "0000000000000005" + SINK)
    assert assignment_text(data) == (
        "Assignment{error=1, leader='worker', leaderUrl='http://w', offset=5, connectorIds=[sink], "
        "taskIds=[sink-0, sink-1]}"
    )


def test_an_assignment_that_takes_away():
    data = bytes.fromhex("0002" + "0000" + LEADER + "0000000000000005" + NULL + SINK_2 + "00007530")
    assert assignment_text(data) == (
        "Assignment{error=0, leader='worker', leaderUrl='http://w', offset=5, connectorIds=[], taskIds=[], "
        "revokedConnectorIds=[], revokedTaskIds=[sink-2], delay=30000}"
    )


@pytest.mark.parametrize("end", ["", NULL, NULL + NULL, NULL + NULL + "00000000"])
def test_an_incremental_assignment_may_end_early(end):
    data = bytes.fromhex("0001" + "0000" + LEADER + "0000000000000005" + end)
    assert assignment_text(data).endswith(
        "offset=5, connectorIds=[], taskIds=[], revokedConnectorIds=[], revokedTaskIds=[], delay=0}"
    )


@pytest.mark.parametrize(
    ("data", "field"),
    [
        ("", "version"),
        ("ffff", "version"),
        ("0000" + "0000" + LEADER + "0000000000000005", "ConnectAssignment.assignment"),
        ("0001" + "0000" + LEADER + "0000000000000005" + "0000", "ConnectAssignment.assignment"),
        ("0001" + "0000" + LEADER, "ConnectAssignment.config_offset"),
        ("0000" + "0000" + LEADER + "0000000000000005" + NULL, "ConnectAssignment.assignment"),
    ],
)
def test_what_connect_refuses_is_named(data, field):
    with pytest.raises(DecodeError) as refused:
        assignment_text(bytes.fromhex(data))
    assert refused.value.field == field
