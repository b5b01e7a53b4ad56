"""Questions to the coordinators of many groups: batched, and repeated where a coordinator has moved."""

from collections.abc import Callable, Iterable, Mapping, MutableMapping, Sequence
from dataclasses import dataclass
from typing import Any, Final, TypeVar

from kgroup.errors import SourceError
from kgroup.net.admin.cluster import Cluster, UnsupportedError, error_name
from kgroup.net.admin.pauses import MOVING, turns
from kgroup.protocol.error_codes import ErrorCode

_COORDINATORS_AT_ONCE: Final = 1000


@dataclass(frozen=True, slots=True)
class Refused:
    """A group that its coordinator says nothing of. `error_code` is None if no coordinator answered.

    `message` is the coordinator's own, where it has one.
    """

    error_code: int | None
    why: str
    message: str | None = None


Answer = TypeVar("Answer")
Answers = Iterable[tuple[str, int | Refused, Answer]]
"""By group its error code, as the wire has it, or more of it, and what there is to know if that is 0."""


class GroupAsks:
    """Asks coordinators, which it looks up once for all questions; kept while a command runs.

    `known` are coordinators by group, as far as they are known already. `pause` waits some seconds before a
    coordinator is asked again; together with the answers that takes no longer than the connection's time
    for one request.
    """

    def __init__(
        self,
        cluster: Cluster,
        known: Mapping[str, int] | None = None,
        *,
        pause: Callable[[float], None] | None = None,
    ) -> None:
        self._cluster = cluster
        self._pause = pause
        self.coordinators: MutableMapping[str, int] = dict(known or {})
        """The node that coordinates each group."""

    def ask(
        self,
        groups: Sequence[str],
        request: Callable[[Sequence[str]], Any],
        answers: Callable[[Any, Sequence[str]], Answers[Answer]],
        *,
        groups_at_once: int,
        advance: Callable[[int], None],
    ) -> dict[str, Answer | Refused]:
        """The coordinators' answers about each of these groups, in order.

        `request` makes one of kafka-python's about some groups, `answers` reads what came back.
        `advance` hears how many more groups are done. Raises UnsupportedError if a broker does not know
        the request.
        """
        got: dict[str, Answer | Refused] = {}
        left = list(dict.fromkeys(groups))
        refused: dict[str, Refused] = {}
        for _ in turns(self._cluster.timeout_ms, self._pause):
            refused = self._look_up(left, got)
            asked = [group for group in left if group not in refused and group not in got]
            refused |= self._ask_once(asked, request, answers, got, groups_at_once)
            advance(sum(group in got for group in left))
            left = [group for group in left if group not in got]
            if not left:
                break
        got |= {group: refused[group] for group in left}
        advance(len(left))
        return {group: got[group] for group in dict.fromkeys(groups)}

    def _look_up(self, groups: Sequence[str], got: dict[str, Any]) -> dict[str, Refused]:
        """Find the coordinators that are not known; gives the groups to look up again, with the reason."""
        unknown = [group for group in groups if group not in self.coordinators]
        refused: dict[str, Refused] = {}
        for begin in range(0, len(unknown), _COORDINATORS_AT_ONCE):
            for found in self._cluster.find_coordinators(unknown[begin : begin + _COORDINATORS_AT_ONCE]):
                if found.node_id is not None:
                    self.coordinators[found.group] = found.node_id
                else:
                    code = ErrorCode.__members__.get(found.error or "")
                    is_moving = code in MOVING
                    why = Refused(None if is_moving else code, f"no coordinator: {found.error}")
                    (refused if is_moving else got)[found.group] = why
        return refused

    def _ask_once(
        self,
        groups: Sequence[str],
        request: Callable[[Sequence[str]], Any],
        answers: Callable[[Any, Sequence[str]], Answers[Answer]],
        got: dict[str, Answer | Refused],
        groups_at_once: int,
    ) -> dict[str, Refused]:
        by_node: dict[int, list[str]] = {}
        for group in groups:
            by_node.setdefault(self.coordinators[group], []).append(group)
        batches = [
            (node_id, of_node[begin : begin + groups_at_once])
            for node_id, of_node in sorted(by_node.items())
            for begin in range(0, len(of_node), groups_at_once)
        ]
        again: dict[str, Refused] = {}
        unsupported: list[UnsupportedError] = []

        def take(index: int, answer: Any) -> None:
            node_id, batch = batches[index]
            if isinstance(answer, UnsupportedError):
                unsupported.append(answer)
            elif isinstance(answer, SourceError):
                for group in batch:
                    again[group] = Refused(None, f"broker {node_id}: {answer}")
            else:
                for group, error, value in answers(answer, batch):
                    refusal = Refused(error, error_name(error)) if isinstance(error, int) else error
                    if refusal.error_code in MOVING:
                        again[group] = refusal
                    else:
                        got[group] = refusal if refusal.error_code else value
                for group in set(batch) - got.keys() - again.keys():
                    got[group] = Refused(None, f"broker {node_id} left it out of its answer")

        self._cluster.ask_many([(node_id, request(batch)) for node_id, batch in batches], take)
        if unsupported:
            raise unsupported[0]
        for group in again:
            del self.coordinators[group]
        return again
