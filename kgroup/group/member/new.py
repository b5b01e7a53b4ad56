"""Creates a member of the protocol its settings name."""

from collections.abc import Callable, Sequence

from kgroup.group.member.classic.member import ClassicMember
from kgroup.group.member.consumer.member import ConsumerMember
from kgroup.group.member.settings import GroupProtocol, MemberSettings
from kgroup.protocol.requests.client import Node

Member = ClassicMember | ConsumerMember


def new_member(settings: MemberSettings, bootstrap: Sequence[Node], random: Callable[[], float]) -> Member:
    """A member that has done nothing yet; for the arguments see `Machine`. Raises InputError."""
    kind = ConsumerMember if settings.group_protocol is GroupProtocol.CONSUMER else ClassicMember
    return kind(settings, bootstrap, random)
