"""A plan carried out: deaths at every moment, refusals in the middle, coordinators that move."""

import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

import kgroup.testing
from kgroup.api.operations.execute import Executed, execute
from kgroup.api.operations.planned import PlannedOperation, steps_of
from kgroup.api.operations.undo import plan_undo
from kgroup.net.admin.cluster import Cluster
from kgroup.net.admin.committed import fetch_offsets
from kgroup.net.connect.properties import ConnectionOptions
from kgroup.net.serve.faults import deliver
from kgroup.operations.journal import Step, StepKind
from kgroup.operations.model import Change, PlanRow, Position
from kgroup.operations.outcomes import Result
from kgroup.report.progress import NO_PROGRESS
from kgroup.testing import ErrorCode
from tests.cli.operations.conftest import commit

NOW_MS = 1_700_000_000_000
MOMENTS = ["planned", "begun", "answered", "applied"]
GROUP = "billing"
BEFORE = {("orders", 0): Position(5, 0, "m"), ("orders", 1): Position(7)}
CHANGES = [
    Change(group=GROUP, topic="orders", partition=0, old=Position(5, 0, "m"), new=Position(0)),
    Change(group=GROUP, topic="orders", partition=1, old=Position(7), new=None),
    Change(group=GROUP, topic="orders", partition=2, old=None, new=Position(3)),
]
AFTER = {("orders", 0): Position(0), ("orders", 2): Position(3)}


class DiedError(BaseException):
    """The process is gone: nothing catches it."""


@pytest.fixture
def kafka() -> Iterator[kgroup.testing.Cluster]:
    with kgroup.testing.cluster(nodes=2, topics={"orders": 3}) as running:
        commit(running.bootstrap, GROUP, {place: tuple(position) for place, position in BEFORE.items()})
        yield running


@pytest.fixture
def cluster(kafka: kgroup.testing.Cluster) -> Iterator[Cluster]:
    with Cluster(ConnectionOptions(bootstrap_servers=kafka.bootstrap)) as opened:
        yield opened


def planned(steps: list[Step], *, existed: bool = True) -> PlannedOperation:
    rows = tuple(PlanRow(change=change) for step in steps for change in step.changes)
    groups = {step.group for step in steps}
    return PlannedOperation(
        command="reset-offsets", rows=rows, steps=tuple(steps), existed=dict.fromkeys(groups, existed)
    )


def dies_at(moment: int) -> Any:
    """A checkpoint that ends it all at its n-th call."""
    left = [moment]

    def checkpoint(_: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise DiedError

    return checkpoint


def undo(cluster: Cluster, path: Path) -> Executed:
    way = plan_undo(cluster, path, now_ms=NOW_MS, command="undo")
    return execute(cluster, way, path.with_suffix(".undo-of-undo"), now_ms=NOW_MS)


def results(executed: Executed) -> list[str]:
    return [outcome.text() for outcome in executed.outcomes.values()]


def test_every_step_is_done_and_reads_back(cluster: Cluster, tmp_path: Path) -> None:
    executed = execute(cluster, planned(steps_of(CHANGES)), tmp_path / "undo", now_ms=NOW_MS)
    assert (executed.is_done, results(executed)) == (True, ["done"] * 3)
    assert fetch_offsets(cluster, GROUP).commits == AFTER


MOMENTS_IN_ALL = 1 + 3 * len(CHANGES)


@pytest.mark.parametrize("moment", range(MOMENTS_IN_ALL))
def test_after_a_death_at_any_moment_undo_gives_the_state_before(
    cluster: Cluster, tmp_path: Path, moment: int
) -> None:
    operation = planned(steps_of(CHANGES, at_once=1))
    with pytest.raises(DiedError):
        execute(cluster, operation, tmp_path / "undo", now_ms=NOW_MS, checkpoint=dies_at(moment))
    assert undo(cluster, tmp_path / "undo").is_done
    assert fetch_offsets(cluster, GROUP).commits == BEFORE


@pytest.mark.parametrize("moment", range(1 + 3 * 2))
def test_after_a_death_of_an_undo_another_one_gives_the_state_before(
    cluster: Cluster, tmp_path: Path, moment: int
) -> None:
    path = tmp_path / "undo"
    execute(cluster, planned(steps_of(CHANGES, at_once=1)), path, now_ms=NOW_MS)
    way = plan_undo(cluster, path, now_ms=NOW_MS, command="undo")
    assert [step.kind for step in way.steps] == [StepKind.COMMIT, StepKind.DELETE_OFFSETS]
    with pytest.raises(DiedError):
        execute(cluster, way, tmp_path / "again", now_ms=NOW_MS, checkpoint=dies_at(moment))
    assert undo(cluster, path).is_done
    assert fetch_offsets(cluster, GROUP).commits == BEFORE


def test_the_moments_are_all_there_are(cluster: Cluster, tmp_path: Path) -> None:
    heard: list[str] = []
    operation = planned(steps_of(CHANGES, at_once=1))
    execute(cluster, operation, tmp_path / "undo", now_ms=NOW_MS, checkpoint=heard.append)
    assert heard == MOMENTS[:1] + MOMENTS[1:] * len(CHANGES)
    assert len(heard) == MOMENTS_IN_ALL


def test_the_plan_is_on_the_disk_before_anything_changes(cluster: Cluster, tmp_path: Path) -> None:
    operation = planned(steps_of(CHANGES))
    with pytest.raises(DiedError):
        execute(cluster, operation, tmp_path / "undo", now_ms=NOW_MS, checkpoint=dies_at(0))
    assert '"planned": 2' in (tmp_path / "undo").read_text()
    assert fetch_offsets(cluster, GROUP).commits == BEFORE


def kill_at_commit(
    kafka: kgroup.testing.Cluster, killed: list[subprocess.Popen[str]], *, handled: bool
) -> None:
    """The next OffsetCommit ends the process that sent it, before or after it is handled."""

    def action(connection: Any, call: Any) -> None:
        if handled:
            deliver(connection, call)
        killed[0].send_signal(signal.SIGKILL)
        connection.close()

    kafka._call(lambda: kafka._fault_maker._add("OffsetCommit", action, {}))


@pytest.mark.parametrize("handled", [False, True], ids=["before the commit", "after the commit"])
def test_kill_9_in_the_middle_of_a_reset(
    kafka: kgroup.testing.Cluster, cluster: Cluster, tmp_path: Path, handled: bool
) -> None:
    """A real process and a real SIGKILL, with the request on its way."""
    processes: list[subprocess.Popen[str]] = []
    kill_at_commit(kafka, processes, handled=handled)
    path = tmp_path / "undo"
    hold = kafka.hold("Metadata", client_id="kgroup", times=1)
    processes.append(
        subprocess.Popen(
            [
                *(sys.executable, "-m", "kgroup", "reset-offsets", GROUP, "-b", kafka.bootstrap),
                *("--topic", "orders", "--to-latest", "--execute", "--undo-file", str(path)),
            ],
            stdout=subprocess.DEVNULL,
            stderr=subprocess.PIPE,
            text=True,
        )
    )
    kafka.release(hold)
    assert processes[0].communicate()[1].endswith(f"kgroup: undo file: {path}\n")
    assert processes[0].returncode == -signal.SIGKILL
    now = fetch_offsets(cluster, GROUP).commits
    assert (now == BEFORE) is not handled
    assert path.read_text().endswith('{"begun": 0}\n')
    assert undo(cluster, path).is_done
    assert fetch_offsets(cluster, GROUP).commits == BEFORE


@pytest.mark.parametrize(
    "error", ["NOT_COORDINATOR", "COORDINATOR_LOAD_IN_PROGRESS", "COORDINATOR_NOT_AVAILABLE"]
)
def test_a_coordinator_that_moves_is_asked_again(
    kafka: kgroup.testing.Cluster, cluster: Cluster, tmp_path: Path, error: str
) -> None:
    for api in ("OffsetCommit", "OffsetDelete", "OffsetFetch"):
        kafka.refuse(api, ErrorCode[error])
    assert execute(cluster, planned(steps_of(CHANGES)), tmp_path / "undo", now_ms=NOW_MS).is_done
    assert fetch_offsets(cluster, GROUP).commits == AFTER


def test_a_connection_that_breaks_is_made_again(
    kafka: kgroup.testing.Cluster, cluster: Cluster, tmp_path: Path
) -> None:
    kafka.drop("OffsetCommit")
    assert execute(cluster, planned(steps_of(CHANGES)), tmp_path / "undo", now_ms=NOW_MS).is_done


def test_a_coordinator_that_has_moved_away(
    kafka: kgroup.testing.Cluster, cluster: Cluster, tmp_path: Path
) -> None:
    kafka.move_coordinator(GROUP, 3 - kafka.coordinator_of(GROUP))
    assert execute(cluster, planned(steps_of(CHANGES)), tmp_path / "undo", now_ms=NOW_MS).is_done


def test_a_refusal_in_the_middle_ends_it_and_undo_covers_what_was_done(
    kafka: kgroup.testing.Cluster, cluster: Cluster, tmp_path: Path
) -> None:
    """The second request, a deletion, is refused as a whole; the third is not tried."""
    kafka.refuse("OffsetDelete", ErrorCode.GROUP_AUTHORIZATION_FAILED)
    changes = [CHANGES[0], CHANGES[2]]
    steps = [*steps_of(changes[:1]), *steps_of(CHANGES[1:2]), *steps_of(changes[1:])]
    executed = execute(cluster, planned(steps), tmp_path / "undo", now_ms=NOW_MS)
    assert not executed.is_done
    assert results(executed) == ["done", "refused", "not tried"]
    assert executed.stopped is not None and executed.stopped.endswith("GROUP_AUTHORIZATION_FAILED")
    way = plan_undo(cluster, tmp_path / "undo", now_ms=NOW_MS, command="undo")
    assert [row.change.place for row in way.rows] == [("orders", 0)]
    assert undo(cluster, tmp_path / "undo").is_done
    assert fetch_offsets(cluster, GROUP).commits == BEFORE


def test_a_full_disk_ends_it_before_the_next_request(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[int] = []

    def full(number: int) -> None:
        synced.append(number)
        if len(synced) > 4:  # the plan, its folder, a mark before and after the first step
            raise OSError(28, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    operation = planned(steps_of(CHANGES, at_once=1))
    executed = execute(cluster, operation, tmp_path / "undo", now_ms=NOW_MS)
    assert results(executed) == ["done", "not tried", "not tried"]
    assert executed.stopped == f"{tmp_path / 'undo'}: No space left on device"


def test_each_mark_is_synced_before_the_next_moment(
    cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    synced: list[str] = []
    real = os.fsync
    path = tmp_path / "undo"

    def fsync(number: int) -> None:
        real(number)
        synced.append(str(Path(f"/proc/self/fd/{number}").readlink()))

    monkeypatch.setattr("os.fsync", fsync)
    before: dict[str, list[str]] = {}
    execute(
        cluster,
        planned(steps_of(CHANGES[:1])),
        path,
        now_ms=NOW_MS,
        checkpoint=lambda moment: before.update({moment: list(synced)}),
    )
    assert before == {
        "planned": [f"{path}.tmp", str(tmp_path)],
        "begun": [f"{path}.tmp", str(tmp_path), str(path)],
        "answered": [f"{path}.tmp", str(tmp_path), str(path)],
        "applied": [f"{path}.tmp", str(tmp_path), str(path), str(path)],
    }


def test_a_commit_of_somebody_else_shows_when_it_is_read_back(
    kafka: kgroup.testing.Cluster, cluster: Cluster, tmp_path: Path
) -> None:
    def interfere(moment: str) -> None:
        if moment == "applied":
            commit(kafka.bootstrap, GROUP, {("orders", 0): 4})

    executed = execute(
        cluster, planned(steps_of(CHANGES[:1])), tmp_path / "undo", now_ms=NOW_MS, checkpoint=interfere
    )
    assert not executed.is_done
    assert results(executed) == ["differs: reads back as 4"]


def test_a_deleted_group_comes_back_with_its_offsets(
    kafka: kgroup.testing.Cluster, cluster: Cluster, tmp_path: Path
) -> None:
    changes = tuple(
        Change(group=GROUP, topic=topic, partition=number, old=position, new=None)
        for (topic, number), position in BEFORE.items()
    )
    for moment in range(4):
        path = tmp_path / f"undo-{moment}"
        operation = planned([Step(kind=StepKind.DELETE_GROUP, group=GROUP, changes=changes)])
        with pytest.raises(DiedError):
            execute(cluster, operation, path, now_ms=NOW_MS, checkpoint=dies_at(moment))
        gone = GROUP not in {group["group"] for group in kafka.state()["groups"]}
        assert gone is (moment > 1), moment
        assert undo(cluster, path).is_done
        assert fetch_offsets(cluster, GROUP).commits == BEFORE


def test_a_group_that_was_made_is_gone_after_undo_whenever_it_died(
    kafka: kgroup.testing.Cluster, cluster: Cluster, tmp_path: Path
) -> None:
    changes = [
        Change(group="made", topic="orders", partition=number, old=None, new=Position(0)) for number in (0, 1)
    ]
    for moment in range(7):
        path = tmp_path / f"undo-{moment}"
        operation = planned(steps_of(changes, at_once=1), existed=False)
        with pytest.raises(DiedError):
            execute(cluster, operation, path, now_ms=NOW_MS, checkpoint=dies_at(moment))
        undone = undo(cluster, path)
        assert undone.is_done, moment
        assert "made" not in {group["group"] for group in kafka.state()["groups"]}, moment


def test_a_member_that_came_meanwhile_is_the_reason(
    kafka: kgroup.testing.Cluster, cluster: Cluster, tmp_path: Path
) -> None:
    kafka.refuse("OffsetCommit", ErrorCode.UNKNOWN_MEMBER_ID)
    executed = execute(cluster, planned(steps_of(CHANGES[:1])), tmp_path / "undo", now_ms=NOW_MS)
    assert results(executed) == ["refused: UNKNOWN_MEMBER_ID (somebody has joined the group meanwhile)"]
    assert {outcome.result for outcome in executed.outcomes.values()} == {Result.REFUSED}
    assert plan_undo(cluster, tmp_path / "undo", now_ms=NOW_MS, command="undo").steps == ()


# ---- many groups at a time ------------------------------------------------------------------------------

MANY = [f"many-{number:02}" for number in range(12)]


def steps_of_many(kafka: kgroup.testing.Cluster) -> list[Step]:
    """Each of them goes from 5 to 1."""
    for group in MANY:
        commit(kafka.bootstrap, group, {("orders", 0): (5, 0, "m")})
    return [
        *steps_of(
            Change(group=group, topic="orders", partition=0, old=Position(5, 0, "m"), new=Position(1))
            for group in MANY
        )
    ]


def offsets_of_many(cluster: Cluster) -> list[int]:
    return [fetch_offsets(cluster, group).commits["orders", 0].offset for group in MANY]


@pytest.mark.parametrize("moment", [0, 1, 3, 10, 22, 36])
def test_undo_covers_whatever_of_many_groups_was_done_when_it_died(
    kafka: kgroup.testing.Cluster, cluster: Cluster, tmp_path: Path, moment: int
) -> None:
    steps = steps_of_many(kafka)
    with pytest.raises(DiedError):
        execute(cluster, planned(steps), tmp_path / "undo", now_ms=NOW_MS, checkpoint=dies_at(moment))
    done = offsets_of_many(cluster).count(1)
    way = plan_undo(cluster, tmp_path / "undo", now_ms=NOW_MS, command="undo")
    assert len(way.rows) == done
    assert undo(cluster, tmp_path / "undo").is_done
    assert offsets_of_many(cluster) == [5] * len(MANY)


def test_a_group_that_is_refused_ends_it_and_what_was_done_for_others_is_told(
    kafka: kgroup.testing.Cluster, cluster: Cluster, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kgroup.api.operations import execute as module
    from kgroup.net.admin.coordinated import CoordinatorError

    steps, real, one_ended = steps_of_many(kafka), module.commit_offsets, threading.Event()
    all_began = threading.Barrier(4)

    def commit_offsets(asked: Cluster, group: str, positions: Any) -> Any:
        all_began.wait(60)
        if group == MANY[2]:
            raise CoordinatorError(f"cannot commit for {group}", ErrorCode.GROUP_AUTHORIZATION_FAILED)
        one_ended.wait(60)  # they are under way when it is refused
        return real(asked, group, positions)

    class Watched(type(NO_PROGRESS)):  # type: ignore[misc]
        @contextmanager
        def counted(self, task: str, total: int) -> Iterator[Any]:
            yield lambda done: one_ended.set()

    monkeypatch.setattr(module, "commit_offsets", commit_offsets)
    executed = execute(cluster, planned(steps), tmp_path / "undo", now_ms=NOW_MS, progress=Watched())
    monkeypatch.undo()
    assert not executed.is_done and executed.refusal == "GROUP_AUTHORIZATION_FAILED"
    told = results(executed)
    assert told == ["done", "done", "refused", "done", *["not tried"] * 8]
    assert [each == "done" for each in told] == [offset == 1 for offset in offsets_of_many(cluster)]
    assert undo(cluster, tmp_path / "undo").is_done
    assert offsets_of_many(cluster) == [5] * len(MANY)
