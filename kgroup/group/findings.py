"""What is wrong with a group: stalls, stops, storms and the rest, each with evidence and a remedy."""

from kgroup.group.finding_model import Finding, GroupFacts


def find(facts: GroupFacts) -> tuple[Finding, ...]:
    """All that is wrong with one group, the worst kinds first, then by topic, partition and member."""
    return ()
