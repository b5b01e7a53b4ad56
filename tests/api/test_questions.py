"""Questions put to opened logs: the values that come, as tables, and as a notebook shows them."""

from pathlib import Path

import pytest

import kgroup
from kgroup.api.assign import Rounds
from kgroup.api.replay import GroupTimeline, Replayed
from kgroup.api.what_if import Comparisons
from kgroup.errors import InputError, SourceError
from kgroup.history.timeline.model import Timeline
from kgroup.history.what_if.changes import Changes
from kgroup.log.format.batch import Damage
from kgroup.protocol.records.entries import LoggedEntry
from kgroup.report.emit import Column
from kgroup.report.html_table import html_table
from kgroup.sim.scenario.scenario import Fault, FaultKind

FIXTURES = Path(__file__).parents[2] / "fixtures"
LIVES = FIXTURES / "4.3.1/lives"


class Told:
    """A Progress that remembers; it sees that each piece of work ends."""

    def __init__(self):
        self.done = {}
        self.ended = []

    def counted_bytes(self, task, total):
        from contextlib import contextmanager

        @contextmanager
        def counted():
            self.done[task] = [0, total]

            def advance(done):
                self.done[task][0] += done

            yield advance
            self.ended.append(task)

        return counted()

    counted = counted_bytes

    def activity(self, task):
        from contextlib import contextmanager

        @contextmanager
        def going_on():
            yield
            self.ended.append(task)

        return going_on()

    def polled(self, task, poll):
        return self.activity(task)


@pytest.fixture(scope="module")
def logs():
    return kgroup.open_logs(LIVES)


class TestReplay:
    def test_a_name_is_a_timeline_and_a_list_is_several(self, logs):
        timeline = kgroup.replay(logs, "orders-app")
        assert isinstance(timeline, GroupTimeline) and isinstance(timeline, Timeline)
        several = kgroup.replay(logs, ["orders-app"])
        assert isinstance(several, Replayed)
        assert list(several) == ["orders-app"]
        assert several["orders-app"] == timeline

    def test_a_text_that_matches_several_groups_is_refused_and_says_what_to_give(self, logs):
        with pytest.raises(InputError, match=r"migrate-\*: matches 2 groups; .*\['migrate-\*'\]"):
            kgroup.replay(logs, "migrate-*")

    def test_no_group_and_an_unknown_one_are_errors(self, logs):
        with pytest.raises(InputError, match="no group given"):
            kgroup.replay(logs, [])
        with pytest.raises(SourceError, match="did you mean orders-app"):
            kgroup.replay(logs, "order-app")

    def test_of_several_those_that_are_missing_are_named(self, logs):
        replayed = kgroup.replay(logs, ["orders-app", "nobody"])
        assert replayed.unread == ["no group here matches nobody"]

    def test_damage_is_among_the_problems(self):
        folder = FIXTURES / "damaged/bad-magic"
        replayed = kgroup.replay(kgroup.open_logs(folder), ["*"])
        assert len(replayed.problems) == 1
        assert "byte 9587" in replayed.problems[0]

    def test_a_notebook_draws_it(self, logs):
        assert kgroup.replay(logs, "orders-app")._repr_html_().startswith("<svg ")
        assert kgroup.replay(logs, ["migrate-*"])._repr_html_().count("<svg ") == 1
        assert repr(kgroup.replay(logs, ["*"])).endswith("more>")

    def test_progress_hears_of_all_bytes(self, logs):
        progress = Told()
        kgroup.replay(logs, ["*"], progress=progress)
        done, total = progress.done["reading"]
        assert done == total > 0
        assert progress.ended == ["reading"]


class TestWhatIf:
    def test_keywords_are_the_changes(self, logs):
        timeline = kgroup.replay(logs, "orders-app")
        by_keyword = kgroup.what_if(timeline, assignor="sticky", pause_ms=3_000)
        assert by_keyword == kgroup.what_if(timeline, Changes(assignor="sticky", pause_ms=3_000))
        assert by_keyword.supposed.rounds[0].assignor == "sticky"

    def test_several_groups_and_those_that_cannot_be_played(self, logs):
        compared = kgroup.what_if(kgroup.replay(logs, ["*"]), static=True)
        assert isinstance(compared, Comparisons)
        assert compared.passed_over
        assert compared["orders-app"].group_id == "orders-app"

    def test_one_that_was_named_is_refused(self, logs):
        with pytest.raises(InputError, match="its members get no partitions"):
            kgroup.what_if(kgroup.replay(logs, ["connect-workers", "orders-app"]), static=True)

    @pytest.mark.parametrize(
        "changes",
        [{"protocol": "eagre"}, {"assignor": "stiky"}, {"assignor": "sticky", "protocol": "consumer"}],
    )
    def test_names_that_make_no_sense(self, logs, changes):
        with pytest.raises(InputError):
            kgroup.what_if(kgroup.replay(logs, "orders-app"), **changes)


class TestDecode:
    def test_entries_with_their_places_and_damage(self):
        items = list(kgroup.decode(kgroup.open_logs(FIXTURES / "damaged/bad-magic")))
        (damage,) = [item for item in items if isinstance(item, Damage)]
        assert damage.position == 9587
        assert all(isinstance(item, LoggedEntry) for item in items if item is not damage)

    def test_each_pass_begins_anew(self, logs):
        decoded = kgroup.decode(logs, groups=["billing-txn"])
        assert len(list(decoded)) == len(list(decoded)) == 8

    def test_problems_and_names_that_are_nowhere_are_known_at_the_end(self):
        damaged = kgroup.open_logs(FIXTURES / "damaged/bad-magic")
        decoded = kgroup.decode(damaged, groups=["nobody"])
        assert decoded.problems == decoded.missing == ()
        for _ in range(2):
            assert all(isinstance(item, Damage) for item in decoded)
            assert len(decoded.problems) == 1
            assert decoded.missing == ("no group here matches nobody",)

    def test_a_notebook_shows_the_first_records(self, logs):
        html = kgroup.decode(logs)._repr_html_()
        assert html.count("<tr>") == 52
        assert "the first 50 rows are shown" in html

    def test_conditions_that_make_no_sense(self, logs):
        with pytest.raises(InputError, match="no such record type"):
            kgroup.decode(logs, types=["offset-comit"])
        with pytest.raises(SourceError, match="no segments of partition 1 here"):
            kgroup.decode(logs, partitions=[1])


class TestAssign:
    def test_members_with_all_topics_and_each_with_its_own(self):
        rounds = kgroup.assign(["c1", "c2"], topics={"orders": 4})
        assert isinstance(rounds, Rounds)
        assert rounds.assignment == {
            "c1": [("orders", 0), ("orders", 1)],
            "c2": [("orders", 2), ("orders", 3)],
        }
        own = kgroup.assign({"c1": ["a"], "c2": ["b"]}, topics={"a": 1, "b": 1})
        assert own.assignment == {"c1": [("a", 0)], "c2": [("b", 0)]}

    def test_several_assignors_come_one_after_the_other(self):
        rounds = kgroup.assign(["c1"], ["range", "sticky"], topics={"t": 1}, then=["join c2"])
        assert [played.assignor for played in rounds] == ["range", "range", "sticky", "sticky"]
        assert len(rounds[1:3]) == 2

    def test_a_group_of_a_log_goes_to_its_own_assignor(self, logs):
        group = kgroup.group_plan(logs, "orders-app", topics={"orders": 9})
        rounds = kgroup.assign(group)
        assert {played.assignor for played in rounds} == {group.assignor} == {"range"}
        assert sum(len(partitions) for partitions in rounds.assignment.values()) == 9 + 3

    @pytest.mark.parametrize(
        ("members", "topics"),
        [
            (["c1"], {}),
            (["c1", "c1"], {"t": 1}),
            ([""], {"t": 1}),
            (["c1"], {"t": -1}),
            ({"c1": ["u"]}, {"t": 1}),
        ],
    )
    def test_a_group_that_makes_no_sense(self, members, topics):
        with pytest.raises(InputError):
            kgroup.assign(members, topics=topics)


class TestCoordinators:
    def test_kafkas_rule_and_redpandas(self):
        assert kgroup.coordinator_partition("test-group") == 12
        assert kgroup.coordinator_partition("test-group", 100) == 12
        assert kgroup.coordinator_partition("test-group", rule="redpanda") == 8

    def test_what_makes_no_sense(self):
        with pytest.raises(InputError, match="0 partitions"):
            kgroup.coordinator_partition("g", 0)
        with pytest.raises(InputError, match="kafka and redpanda"):
            kgroup.coordinator_partition("g", rule="pulsar")


class TestSimulate:
    def test_the_same_seed_is_the_same_run(self):
        run = kgroup.simulate("c1-leaves-under-sticky", seed=3)
        assert run.to_arrow() == kgroup.simulate("c1-leaves-under-sticky", seed=3).to_arrow()
        assert [formed.generation for formed in run.chronicle.generations()] == [1, 2]
        assert "every promise kept" in run._repr_html_()

    def test_another_design_and_every_event(self):
        events = []
        run = kgroup.simulate("c1-leaves-under-sticky", design="cooperative", on_event=events.append)
        assert run.design == "cooperative"
        assert len(events) > 100

    def test_designs_that_are_none_or_too_many(self):
        with pytest.raises(InputError, match="no design 'egaer'"):
            kgroup.simulate("herd-effect", design="egaer")
        with pytest.raises(InputError, match="one design"):
            kgroup.simulate("herd-effect", design="eager,zookeeper")

    def test_the_logs_are_kept_and_can_be_opened(self, tmp_path):
        kgroup.simulate("c1-leaves-under-sticky", log_dir=tmp_path / "logs")
        replayed = kgroup.replay(kgroup.open_logs(tmp_path / "logs"), ["*"])
        assert len(replayed) == 1
        with pytest.raises(InputError, match="not empty"):
            kgroup.simulate("c1-leaves-under-sticky", log_dir=tmp_path / "logs")

    def test_whom_a_fault_starts_comes_only_then(self):
        from kgroup.api.simulate import quick_scenario

        late = Fault(kind=FaultKind.START, at_ms=10_000, target="c9")
        scenario = quick_scenario(["c1"], [late])
        assert [(member.name, member.start_ms) for member in scenario.members] == [("c1", 0), ("c9", None)]
        assert scenario.duration_ms == 70_000


def test_names_are_escaped_in_html():
    rows = [{"group": "<script>alert(1)</script>\x1b[31m"}]
    html = html_table(rows, [Column(name="group", header="<b>")], "<i>")
    assert "<script>" not in html and "<b>" not in html and "<i>" not in html
    assert "&lt;script&gt;" in html and "\\x1b[31m" in html
