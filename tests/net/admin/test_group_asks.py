"""Questions to coordinators: batches, and who is asked again, by a cluster that answers as it is told."""

from collections import Counter
from types import SimpleNamespace

import pytest

from kgroup.errors import SourceError
from kgroup.net.admin.cluster import Coordinator, UnsupportedError
from kgroup.net.admin.group_asks import GroupAsks, Refused
from kgroup.net.admin.group_listing import list_groups
from kgroup.net.admin.group_offsets import committed
from kgroup.net.admin.pauses import turns
from kgroup.protocol.error_codes import ErrorCode

E = ErrorCode


class Scripted:
    """A cluster of one coordinator a group; `errors` are what each group is answered, turn by turn."""

    name = "test:9092"

    def __init__(self, coordinators, errors=None, *, timeout_ms=60_000):
        self.coordinators = coordinators
        self.errors = {group: list(codes) for group, codes in (errors or {}).items()}
        self.timeout_ms = timeout_ms
        self.asked = []
        self.looked_up = []

    def find_coordinators(self, groups):
        self.looked_up.append(tuple(groups))
        return [self._found(group) for group in groups]

    def _found(self, group):
        node = self.coordinators.get(group)
        error = None if node is not None else "COORDINATOR_NOT_AVAILABLE"
        return Coordinator(group=group, node_id=node, host="h", port=1, error=error)

    def ask_many(self, requests, take):
        for index, (node, groups) in enumerate(requests):
            self.asked.append((node, tuple(groups)))
            take(index, [(group, self._error(group), f"{group} of {node}") for group in groups])

    def _error(self, group):
        codes = self.errors.get(group)
        return codes.pop(0) if codes else 0


def ask(cluster, groups, known=None, at_once=100):
    pauses = []
    asks = GroupAsks(cluster, known, pause=pauses.append)
    done = []
    answers = asks.ask(
        groups, lambda some: some, lambda answer, some: answer, groups_at_once=at_once, advance=done.append
    )
    return answers, sum(done), pauses


def test_groups_go_to_their_coordinators_in_batches():
    cluster = Scripted({"a": 1, "b": 2, "c": 1, "d": 1})
    answers, done, pauses = ask(cluster, ["d", "c", "b", "a"], at_once=2)
    assert answers == {"d": "d of 1", "c": "c of 1", "b": "b of 2", "a": "a of 1"}
    assert cluster.asked == [(1, ("d", "c")), (1, ("a",)), (2, ("b",))]
    assert cluster.looked_up == [("d", "c", "b", "a")]
    assert (done, pauses) == (4, [])


def test_a_coordinator_that_is_known_is_not_looked_up():
    cluster = Scripted({"a": 1, "b": 2})
    answers, _, _ = ask(cluster, ["a", "b"], known={"a": 1})
    assert answers == {"a": "a of 1", "b": "b of 2"}
    assert cluster.looked_up == [("b",)]


@pytest.mark.parametrize(
    "code", [E.NOT_COORDINATOR, E.COORDINATOR_NOT_AVAILABLE, E.COORDINATOR_LOAD_IN_PROGRESS]
)
def test_a_group_that_moves_is_looked_up_and_asked_again_alone(code):
    cluster = Scripted({"a": 1, "b": 1}, {"b": [code, code]})
    answers, done, pauses = ask(cluster, ["a", "b"])
    assert answers == {"a": "a of 1", "b": "b of 1"}
    assert cluster.asked == [(1, ("a", "b")), (1, ("b",)), (1, ("b",))]
    assert cluster.looked_up == [("a", "b"), ("b",), ("b",)]
    assert done == 2
    assert pauses == [0.05, 0.1]


def test_a_group_that_never_settles_is_refused_when_the_time_is_up():
    cluster = Scripted({"a": 1, "b": 1}, {"b": [E.NOT_COORDINATOR]}, timeout_ms=0)
    answers, done, _ = ask(cluster, ["a", "b"])
    assert answers == {"a": "a of 1", "b": Refused(E.NOT_COORDINATOR, "NOT_COORDINATOR")}
    assert done == 2


def test_a_group_without_a_coordinator_is_refused_when_the_time_is_up():
    answers, _, _ = ask(Scripted({"a": 1}, timeout_ms=0), ["a", "b"])
    assert answers == {"a": "a of 1", "b": Refused(None, "no coordinator: COORDINATOR_NOT_AVAILABLE")}


def test_any_other_error_is_final():
    cluster = Scripted({"a": 1}, {"a": [E.GROUP_AUTHORIZATION_FAILED]})
    answers, _, pauses = ask(cluster, ["a"])
    assert answers == {"a": Refused(E.GROUP_AUTHORIZATION_FAILED, "GROUP_AUTHORIZATION_FAILED")}
    assert (len(cluster.asked), pauses) == (1, [])


class Down(Scripted):
    """Its brokers break connections, `times` each."""

    times = 1

    def ask_many(self, requests, take):
        broken = Counter(node for node, _ in self.asked)
        for index, (node, groups) in enumerate(requests):
            if broken[node] < self.times:
                self.asked.append((node, tuple(groups)))
                take(index, SourceError("test:9092: connection lost"))
            else:
                super().ask_many([(node, groups)], lambda _, answer, index=index: take(index, answer))


def test_a_broken_connection_is_tried_again():
    answers, _, pauses = ask(Down({"a": 1}), ["a"])
    assert (answers, pauses) == ({"a": "a of 1"}, [0.05])


def test_a_broker_that_stays_away_is_named_when_the_time_is_up():
    answers, _, _ = ask(Down({"a": 1}, timeout_ms=0), ["a"])
    assert answers == {"a": Refused(None, "broker 1: test:9092: connection lost")}


def test_a_group_that_an_answer_leaves_out_is_said():
    cluster = Scripted({"a": 1, "b": 1})
    asks = GroupAsks(cluster, pause=lambda seconds: None)
    answers = asks.ask(
        ["a", "b"],
        lambda some: some,
        lambda answer, some: answer[:1],
        groups_at_once=9,
        advance=lambda done: None,
    )
    assert answers == {"a": "a of 1", "b": Refused(None, "broker 1 left it out of its answer")}


class Old:
    """A broker before 3.0, whose OffsetFetch is for one group."""

    name, timeout_ms = "test:9092", 60_000

    def __init__(self):
        self.asked_for = []

    def find_coordinators(self, groups):
        return [Coordinator(group=group, node_id=1, host="h", port=1, error=None) for group in groups]

    def ask_many(self, requests, take):
        for index, (_, request) in enumerate(requests):
            self.asked_for.append([group.group_id for group in request.groups or ()] or request.group_id)
            if request.groups:
                take(index, UnsupportedError("OffsetFetchRequest v8"))
                continue
            partition = SimpleNamespace(
                partition_index=0, committed_offset=5, committed_leader_epoch=-1, metadata=None, error_code=0
            )
            topic = SimpleNamespace(name=request.group_id, partitions=[partition])
            take(index, SimpleNamespace(error_code=0, topics=[topic]))


def test_an_old_broker_is_asked_for_one_group_at_a_time():
    cluster = Old()
    answers = committed(GroupAsks(cluster), ["a", "b"], lambda done: None)
    assert {
        group: [(each.topic, each.offset) for each in of_group] for group, of_group in answers.items()
    } == {
        "a": [("a", 5)],
        "b": [("b", 5)],
    }
    assert cluster.asked_for == [["a", "b"], "a", "b"]


def test_pauses_grow_to_a_second_and_end_with_the_time():
    waited = []
    assert len(list(zip(range(9), turns(60_000, waited.append), strict=False))) == 9
    assert waited == [0.05, 0.1, 0.2, 0.4, 0.8, 1.0, 1.0, 1.0, 1.0][: len(waited)]
    assert len(waited) >= 8
    assert len(list(turns(0, waited.append))) == 1


class Listing:
    """Brokers that list groups; `errors` are what each answers, turn by turn."""

    name, timeout_ms = "test:9092", 60_000

    def __init__(self, listed, errors):
        self.listed, self.errors = listed, errors

    def brokers(self):
        return self.listed

    def ask_many(self, requests, take):
        for index, (node, _) in enumerate(requests):
            codes = self.errors.get(node)
            groups = [
                SimpleNamespace(
                    group_id=name, protocol_type="consumer", group_state="Stable", group_type="consumer"
                )
                for name in self.listed[node]
            ]
            take(index, SimpleNamespace(error_code=codes.pop(0) if codes else 0, groups=groups))


def test_a_broker_that_loads_is_asked_for_its_list_again():
    cluster = Listing({1: ["b"], 2: ["a"]}, {2: [E.COORDINATOR_LOAD_IN_PROGRESS]})
    listed = list_groups(cluster, pause=lambda seconds: None)
    assert {name: group.node_id for name, group in listed.items()} == {"b": 1, "a": 2}


def test_a_broker_that_refuses_its_list_is_named():
    cluster = Listing({1: ["b"]}, {1: [E.CLUSTER_AUTHORIZATION_FAILED]})
    with pytest.raises(SourceError, match=r"of broker 1: CLUSTER_AUTHORIZATION_FAILED$"):
        list_groups(cluster)


def test_a_broker_that_never_has_its_list_is_named_when_the_time_is_up():
    cluster = Listing({1: ["b"], 2: ["a"]}, {2: [E.COORDINATOR_LOAD_IN_PROGRESS]})
    cluster.timeout_ms = 0
    with pytest.raises(SourceError, match=r"of broker 2: COORDINATOR_LOAD_IN_PROGRESS$"):
        list_groups(cluster, pause=lambda seconds: None)
