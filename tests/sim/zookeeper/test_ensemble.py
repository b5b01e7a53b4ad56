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


class Watched:
    """A ZooKeeper and what its watches have told."""

    def __init__(self) -> None:
        self.fired: list[tuple[int, str]] = []
        self.zookeeper = Zookeeper(lambda session, path: self.fired.append((session, path)))
        self.ask = self.zookeeper.answer


@pytest.fixture
def ensemble():
    return Watched()


def test_data_is_written_and_read_and_parents_are_made(ensemble):
    session = ensemble.zookeeper.open_session()
    assert ensemble.ask(session, GetData("/consumers/g/offsets/t/0")) == NO_NODE
    assert ensemble.ask(session, SetData("/consumers/g/offsets/t/0", "7")) == Answer()
    assert ensemble.ask(session, SetData("/consumers/g/offsets/t/0", "8")) == Answer()
    assert ensemble.ask(session, GetData("/consumers/g/offsets/t/0")).data == "8"
    assert ensemble.ask(session, GetChildren("/consumers")).children == ("g",)


def test_children_come_sorted(ensemble):
    session = ensemble.zookeeper.open_session()
    for name in ("b", "c", "a"):
        ensemble.ask(session, CreateEphemeral(f"/ids/{name}", name))
    assert ensemble.ask(session, GetChildren("/ids")).children == ("a", "b", "c")
    assert ensemble.ask(session, GetChildren("/none")) == NO_NODE


def test_what_is_there_cannot_be_created_and_what_is_not_cannot_be_deleted(ensemble):
    one, other = ensemble.zookeeper.open_session(), ensemble.zookeeper.open_session()
    assert ensemble.ask(one, CreateEphemeral("/owners/t/0", "c1")) == Answer()
    assert ensemble.ask(other, CreateEphemeral("/owners/t/0", "c2")).error is ZookeeperError.NODE_EXISTS
    assert ensemble.ask(one, CreateEphemeral("/owners/t/0", "c1")).error is ZookeeperError.NODE_EXISTS
    assert ensemble.ask(one, Delete("/owners/t/0")) == Answer()
    assert ensemble.ask(one, Delete("/owners/t/0")) == NO_NODE


def test_ephemeral_znodes_go_with_their_session_and_others_stay(ensemble):
    one, other = ensemble.zookeeper.open_session(), ensemble.zookeeper.open_session()
    ensemble.ask(one, CreateEphemeral("/ids/c1", ""))
    ensemble.ask(other, CreateEphemeral("/ids/c2", ""))
    ensemble.ask(one, SetData("/offsets/t/0", "7"))
    ensemble.zookeeper.expire(one)
    assert ensemble.ask(other, GetChildren("/ids")).children == ("c2",)
    assert ensemble.ask(other, GetData("/offsets/t/0")).data == "7"
    assert ensemble.ask(one, GetData("/offsets/t/0")).error is ZookeeperError.SESSION_EXPIRED
    assert not ensemble.zookeeper.is_open(one)


def test_a_watch_on_children_fires_once_and_has_to_be_set_again(ensemble):
    one, other = ensemble.zookeeper.open_session(), ensemble.zookeeper.open_session()
    ensemble.ask(one, CreateEphemeral("/ids/c1", ""))
    ensemble.ask(one, GetChildren("/ids", watch=True))
    ensemble.ask(other, CreateEphemeral("/ids/c2", ""))
    ensemble.ask(other, CreateEphemeral("/ids/c3", ""))
    assert ensemble.fired == [(one, "/ids")]
    ensemble.ask(one, GetChildren("/ids", watch=True))
    ensemble.ask(other, Delete("/ids/c3"))
    assert ensemble.fired == [(one, "/ids"), (one, "/ids")]


def test_a_watch_on_data_fires_when_it_changes_or_goes_and_not_for_children(ensemble):
    session = ensemble.zookeeper.open_session()
    ensemble.ask(session, SetData("/topics/t", "1"))
    ensemble.ask(session, GetData("/topics/t", watch=True))
    ensemble.zookeeper.write("/topics/u", "1")
    assert ensemble.fired == []
    ensemble.zookeeper.write("/topics/t", "2")
    assert ensemble.fired == [(session, "/topics/t")]
    ensemble.ask(session, GetData("/topics/t", watch=True))
    ensemble.ask(session, Delete("/topics/t"))
    assert ensemble.fired == [(session, "/topics/t")] * 2


def test_the_end_of_a_session_fires_the_watches_of_others_and_not_its_own(ensemble):
    one, other = ensemble.zookeeper.open_session(), ensemble.zookeeper.open_session()
    ensemble.ask(one, CreateEphemeral("/ids/c1", ""))
    ensemble.ask(one, GetChildren("/ids", watch=True))
    ensemble.ask(other, GetChildren("/ids", watch=True))
    ensemble.zookeeper.expire(one)
    assert ensemble.fired == [(other, "/ids")]


def test_every_watcher_is_told_of_every_change():
    ensemble = Watched()
    sessions = [ensemble.zookeeper.open_session() for _ in range(20)]
    ensemble.zookeeper.write("/ids/c0", "")
    for session in sessions:
        ensemble.ask(session, GetChildren("/ids", watch=True))
    ensemble.zookeeper.write("/ids/c1", "")
    assert ensemble.fired == [(session, "/ids") for session in sessions]
