"""A member's heartbeats in a generation: when the next is due, and how long there has been no answer."""

from kgroup.group.member.identity import Identity
from kgroup.group.member.outbox import Outbox
from kgroup.protocol.requests.client import Node
from kgroup.protocol.requests.coordinator import Heartbeat


class Heartbeats:
    """One at a time. `request` is the id of the one under way, None between them; times are epoch ms.

    At `due_ms` the next one is to be sent, unless one is under way; at `session_end_ms` the coordinator has
    been silent for a session.
    """

    def __init__(self, outbox: Outbox, identity: Identity) -> None:
        self._outbox = outbox
        self._settings = outbox.settings
        self._identity = identity
        self._last: Heartbeat | None = None
        self.request: int | None = None
        self.due_ms = 0
        self.session_end_ms = 0

    def begin(self, now_ms: int) -> None:
        """The coordinator has let the member into a generation."""
        self.due_ms = now_ms + self._settings.heartbeat_interval_ms
        self.heard(now_ms)

    def heard(self, now_ms: int) -> None:
        """The coordinator knows that the member lives: a session begins again."""
        self.session_end_ms = now_ms + self._settings.session_timeout_ms

    def send(self, group_id: str, coordinator: Node, now_ms: int) -> None:
        """Send the one that is due."""
        self.due_ms = now_ms + self._settings.heartbeat_interval_ms
        generation, member_id = self._identity.generation, self._identity.member_id
        beat = self._last
        if beat is None or beat.generation_id != generation or beat.member_id != member_id:
            # The same all through a generation.
            beat = self._last = Heartbeat(
                group_id=group_id,
                generation_id=generation,
                member_id=member_id,
                group_instance_id=self._settings.group_instance_id,
            )
        self.request = self._outbox.send(beat, coordinator, coordinator=True)

    def ended(self) -> None:
        """The one under way has its answer, or will get none."""
        self.request = None

    def stop(self) -> None:
        """Wait for no answer any more."""
        self._outbox.abandon(self.request)
        self.request = None
