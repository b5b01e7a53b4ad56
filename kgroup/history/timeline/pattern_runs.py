"""A pattern over a run of generations, and the names its evidence uses for processes."""

from collections.abc import Sequence

from kgroup.history.timeline.model import Generation, Pattern


def pattern_over(
    name: str, run: Sequence[Generation], *, member_ids: tuple[str, ...], evidence: str, remedy: str | None
) -> Pattern:
    """A pattern from the first of the generations to the last."""
    first, last = run[0].roster, run[-1].roster
    return Pattern(
        name=name,
        from_ms=first.at_ms,
        to_ms=last.at_ms,
        first_generation=first.generation,
        last_generation=last.generation,
        member_ids=member_ids,
        evidence=evidence,
        remedy=remedy,
    )


def process_name(identity: tuple[str, str]) -> str:
    """`orders-1 on 10.0.0.1`, of the identity of a member; of a static one only its instance id."""
    name, host = identity
    return f"{name} on {host.lstrip('/')}" if host else name
