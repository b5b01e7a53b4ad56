from kgroup.cli.man.scenario import EXAMPLE, scenario_page
from kgroup.sim.scenario.actions import FORMS
from kgroup.sim.scenario.file import read_scenario
from kgroup.sim.scenario.keys import (
    CHAOS_KEYS,
    MEMBER_KEYS,
    MEMBERS_KEYS,
    NETWORK_KEYS,
    SCENARIO_KEYS,
    TOPIC_KEYS,
    ZOOKEEPER_KEYS,
)

PAGE = scenario_page().replace("\\-", "-")


def test_the_page_has_every_key_of_a_scenario_file():
    tables = (SCENARIO_KEYS, TOPIC_KEYS, MEMBERS_KEYS, MEMBER_KEYS, CHAOS_KEYS, NETWORK_KEYS, ZOOKEEPER_KEYS)
    for key in (key for table in tables for key in table):
        assert f"\\fB{key}\\fR = " in PAGE


def test_the_page_has_every_fault():
    assert all(f"\\fB{form.pattern(verb)}\\fR" in PAGE for verb, form in FORMS.items())


def test_its_example_can_be_read():
    scenario = read_scenario(EXAMPLE, "example", "example")
    assert [member.start_ms for member in scenario.members] == [0, 500, 1000]
