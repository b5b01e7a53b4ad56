"""Completion of options with a fixed list of words that also accept other values.

What takes nothing else, as `-o`, is an enum, whose words typer offers by itself. Each list is imported when a
shell asks for it.
"""


def complete_scenarios(incomplete: str) -> list[str]:
    """The scenarios and swarms that come with kgroup; a file's name is up to the user."""
    from kgroup.api.simulate import scenario_abouts

    return [name for name in scenario_abouts() if name.startswith(incomplete)]


def complete_record_types(incomplete: str) -> list[str]:
    """Kafka's names of record types, and of what has none."""
    from kgroup.api.decode.filter import type_names

    return [name for name in type_names() if name.startswith(incomplete)]


def complete_group_kinds(incomplete: str) -> list[str]:
    """The kinds of groups."""
    from kgroup.history.groups.model import GroupKind

    return [kind.value for kind in GroupKind if kind.value.startswith(incomplete)]


def complete_failures(incomplete: str) -> list[str]:
    """Values for `--fail-on`: stuck, findings and statuses, and the beginning of lag=N."""
    from kgroup.lag.findings.model import FindingKind
    from kgroup.lag.status.model import PartitionStatus

    statuses = ("ERR", *(status.value for status in PartitionStatus if status != "OK"))
    words = ("stuck", *(kind.value for kind in FindingKind), *statuses, "lag=")
    return [word for word in words if word.startswith(incomplete)]


def complete_assignors(incomplete: str) -> list[str]:
    """Assignors of clients, of consumer groups and of share groups."""
    from kgroup.assignors.registry import CURRENT

    return [name for name in CURRENT if name.startswith(incomplete)]


def complete_client_assignors(incomplete: str) -> list[str]:
    """The assignors that a classic member can name."""
    from kgroup.assignors.registry import CLIENT_ASSIGNORS

    return [name for name in CLIENT_ASSIGNORS if name.startswith(incomplete)]
