"""One vocabulary over all commands: an option has one name, one wording and one place in the help."""

import re
from collections import defaultdict
from functools import cache

import pytest
from typer.core import TyperOption

from kgroup.cli.shell import options
from kgroup.cli.shell.app import COMMANDS, load_command
from kgroup.cli.shell.section import Section

# Options that mean another thing, or the same in other words, from command to command; each says why.
OWN_WORDS = {
    "--all": "what is not in sight, who is in a group",
    "--at": "a moment of a history, when a fault comes",
    "--assignor": "which assignors there are: of clients, of coordinators, of share groups",
    "--bootstrap-server": "join has no files to read instead, and a default",
    "--by": "what can be added up",
    "--check": "a client's properties before a rollout, a report that was made",
    "--compare": "assignors, or whole designs",
    "--for": "a member leaves, a simulation stops its faults",
    "--format": "join goes on and on",
    "--kafka-version": "whose clients answer, whose brokers load",
    "--from": "find-coordinator: a path; join: earliest or latest, as kafka-console-consumer has it",
    "--group": "one group, where a pattern would make no sense",
    "--html": "what is on the page",
    "--explain": "a group, or a run",
    "--listen": "brokers for all the world, or for this machine alone",
    "--log-dir": "assign takes it for PATH, and does not show it; simulate writes it",
    "--log-ends": "of assign only the numbers of partitions count",
    "--members": "names or a number, how many more, how many of this process",
    "--nodes": "what is the default",
    "--now": "offsets-topic counts deletions by the clock, however old the log is",
    "--once": "one look, or one batch of a stream",
    "--partitions": "of the offsets topic, of a topic",
    "--protocol": "a member speaks one, a group is played again under one",
    "--quiet": "serve has no results, but a status line",
    "--replace": "a name, a file",
    "--retention": "when it is all that is asked, or asked besides",
    "--serve-metrics": "of groups, or of the recorder itself",
    "--slo": "when it is all that is asked, or asked besides",
    "--state": "which groups are listed, what of them is shown",
    "--strict": "assign has flawed answers instead of damage",
    "--to": "a time, the folder of a recording",
    "--to-offset": "of records to read, to commit",
    "--topic": "with partitions, with a count, to subscribe to, to make",
    "--trace": "to the screen, to a file",
    "--type": "of records, of groups",
}


@cache
def long_options(command):
    """Name -> option, without --help."""
    parameters = load_command(command).params
    return {max(option.opts, key=len): option for option in parameters if isinstance(option, TyperOption)}


def help_order(command):
    loaded = load_command(command)
    context = loaded.make_context(command, [], resilient_parsing=True)
    return [
        re.search(r"--[\w-]+|-X", form)[0]
        for _, records in loaded.option_records(context)
        for form, _ in records
    ]


@pytest.mark.parametrize("command", COMMANDS)
def test_every_option_has_a_section_and_says_what_it_takes(command):
    for name, option in long_options(command).items():
        assert option.rich_help_panel in set(Section), name
        assert option.help, name
        assert option.is_flag or option.metavar, name


@pytest.mark.parametrize("command", COMMANDS)
def test_the_sections_stand_in_one_order(command):
    loaded = load_command(command)
    context = loaded.make_context(command, [], resilient_parsing=True)
    sections = [section for section, _ in loaded.option_records(context)]
    assert sections == [section for section in Section if section in sections]


@pytest.mark.parametrize("command", COMMANDS)
def test_an_option_that_several_commands_have_stands_in_the_same_section(command):
    for name, option in long_options(command).items():
        for other in COMMANDS:
            others = long_options(other).get(name)
            if others is not None and name not in OWN_WORDS:
                assert others.rich_help_panel == option.rich_help_panel, (name, other)


def test_options_of_several_commands_stand_in_the_same_order():
    shared = long_options("replay")
    for command in COMMANDS:
        own = long_options(command)
        order = [
            name
            for name in help_order(command)
            # An --at that sets something up is another option than one that selects.
            if name in shared and own[name].rich_help_panel == shared[name].rich_help_panel
        ]
        assert order == [name for name in help_order("replay") if name in order], command


def test_an_option_that_several_commands_have_is_worded_once():
    words = defaultdict(set)
    for command in COMMANDS:
        for name, option in long_options(command).items():
            words[name].add((option.metavar, option.help, tuple(option.opts)))
    several = {name for name, wordings in words.items() if len(wordings) > 1}
    assert several == OWN_WORDS.keys()


def test_without_a_path_or_a_cluster_there_is_no_source(kgroup):
    for command in ("decode", "lag-report", "replay", "what-if"):
        ended = kgroup(command)
        assert (ended.status, ended.err.partition(":")[2][:14]) == (2, " no PATH given")


def test_paths_and_a_cluster_are_not_one_source(kgroup):
    for command in ("decode", "lag-report", "replay", "what-if"):
        ended = kgroup(command, "fixtures", "-b", "127.0.0.1:1")
        assert (ended.status, ended.err) == (2, "kgroup: give PATHs or --bootstrap-server, not both\n")


def test_a_cluster_is_what_its_three_options_say():
    connection = options.connection_options("a:1,b:2", None, ["client.id=me"])
    assert connection.bootstrap_servers == "a:1,b:2"
    assert connection.read_properties() == {"client.id": "me"}
    assert options.connection_options(None, None, ["client.id=me"]) is None
