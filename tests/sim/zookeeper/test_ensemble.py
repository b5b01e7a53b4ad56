import pytest

from kgroup.sim.zookeeper.ensemble import (
    Answer,
    CreateEphemeral,
    Delete,
    GetChildren,
    GetData,
    SetData,
    Zookeeper,
    ZookeeperError,
)

NO_NODE = Answer(error=ZookeeperError.NO_NODE)


class Told:
    """A ZooKeeper and what its watches have told."""

    def __init__(self) -> None:
        self.fired: list[tuple[int, str]] = []
        self.zookeeper = Zookeeper(lambda session, path: self.fired.append((session, path)))
        self.ask = self.zookeeper.answer


@pytest.fixture
def told():
    return Told()


def test_data_is_written_and_read_and_parents_are_made(told):
    session = told.zookeeper.open_session()
    assert told.ask(session, GetData("/consumers/g/offsets/t/0")) == NO_NODE
    assert told.ask(session, SetData("/consumers/g/offsets/t/0", "7")) == Answer()
    assert told.ask(session, SetData("/consumers/g/offsets/t/0", "8")) == Answer()
    assert told.ask(session, GetData("/consumers/g/offsets/t/0")).data == "8"
    assert told.ask(session, GetChildren("/consumers")).children == ("g",)


def test_children_come_sorted(told):
    session = told.zookeeper.open_session()
    for name in ("b", "c", "a"):
        told.ask(session, CreateEphemeral(f"/ids/{name}", name))
    assert told.ask(session, GetChildren("/ids")).children == ("a", "b", "c")
    assert told.ask(session, GetChildren("/none")) == NO_NODE


def test_what_is_there_cannot_be_created_and_what_is_not_cannot_be_deleted(told):
    one, other = told.zookeeper.open_session(), told.zookeeper.open_session()
    assert told.ask(one, CreateEphemeral("/owners/t/0", "c1")) == Answer()
    assert told.ask(other, CreateEphemeral("/owners/t/0", "c2")).error is ZookeeperError.NODE_EXISTS
    assert told.ask(one, CreateEphemeral("/owners/t/0", "c1")).error is ZookeeperError.NODE_EXISTS
    assert told.ask(one, Delete("/owners/t/0")) == Answer()
    assert told.ask(one, Delete("/owners/t/0")) == NO_NODE


def test_ephemeral_znodes_go_with_their_session_and_others_stay(told):
    one, other = told.zookeeper.open_session(), told.zookeeper.open_session()
    told.ask(one, CreateEphemeral("/ids/c1", ""))
    told.ask(other, CreateEphemeral("/ids/c2", ""))
    told.ask(one, SetData("/offsets/t/0", "7"))
    told.zookeeper.expire(one)
    assert told.ask(other, GetChildren("/ids")).children == ("c2",)
    assert told.ask(other, GetData("/offsets/t/0")).data == "7"
    assert told.ask(one, GetData("/offsets/t/0")).error is ZookeeperError.SESSION_EXPIRED
    assert not told.zookeeper.is_open(one)


def test_a_watch_on_children_fires_once_and_has_to_be_set_again(told):
    one, other = told.zookeeper.open_session(), told.zookeeper.open_session()
    told.ask(one, CreateEphemeral("/ids/c1", ""))
    told.ask(one, GetChildren("/ids", watch=True))
    told.ask(other, CreateEphemeral("/ids/c2", ""))
    told.ask(other, CreateEphemeral("/ids/c3", ""))
    assert told.fired == [(one, "/ids")]
    told.ask(one, GetChildren("/ids", watch=True))
    told.ask(other, Delete("/ids/c3"))
    assert told.fired == [(one, "/ids"), (one, "/ids")]


def test_a_watch_on_data_fires_when_it_changes_or_goes_and_not_for_children(told):
    session = told.zookeeper.open_session()
    told.ask(session, SetData("/topics/t", "1"))
    told.ask(session, GetData("/topics/t", watch=True))
    told.zookeeper.write("/topics/u", "1")
    assert told.fired == []
    told.zookeeper.write("/topics/t", "2")
    assert told.fired == [(session, "/topics/t")]
    told.ask(session, GetData("/topics/t", watch=True))
    told.ask(session, Delete("/topics/t"))
    assert told.fired == [(session, "/topics/t")] * 2


def test_the_end_of_a_session_fires_the_watches_of_others_and_not_its_own(told):
    one, other = told.zookeeper.open_session(), told.zookeeper.open_session()
    told.ask(one, CreateEphemeral("/ids/c1", ""))
    told.ask(one, GetChildren("/ids", watch=True))
    told.ask(other, GetChildren("/ids", watch=True))
    told.zookeeper.expire(one)
    assert told.fired == [(other, "/ids")]


def test_every_watcher_is_told_of_every_change():
    told = Told()
    sessions = [told.zookeeper.open_session() for _ in range(20)]
    told.zookeeper.write("/ids/c0", "")
    for session in sessions:
        told.ask(session, GetChildren("/ids", watch=True))
    told.zookeeper.write("/ids/c1", "")
    assert told.fired == [(session, "/ids") for session in sessions]
