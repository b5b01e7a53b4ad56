"""A scenario's names for its members, in place of the ids that coordinators make."""

import re
from typing import Final

from kgroup.sim.scenario.scenario import Scenario

_UUID_AT_END: Final = re.compile(r"-[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}$")


class MemberNames:
    """A member id is the client id or the instance id, and a UUID."""

    def __init__(self, scenario: Scenario) -> None:
        self._names = {member.instance_id or member.name: member.name for member in scenario.members}

    def of(self, member_id: str) -> str:
        """The name of the member with this member id or instance id; other words stay as they are."""
        word = _UUID_AT_END.sub("", member_id)
        return self._names.get(word, word)

    def in_text(self, text: str) -> str:
        """The text with names where it had ids."""
        return " ".join(map(self.of, text.split(" ")))
