"""A score for how closely a re-enacted history matches the original: generations that agree, in order."""

from collections.abc import Sequence
from dataclasses import dataclass

from kgroup.history.timeline.model import Generation


@dataclass(frozen=True, slots=True, kw_only=True)
class Score:
    """`agreeing` generations stand in both histories, in order, with the same client ids that joined and left
    and the same causes; of these `moved` also moved as many partitions. `longer` is the number of generations
    of the longer history, so that one too many counts as one too few does.
    """

    original: int
    reenacted: int
    agreeing: int
    moved: int

    @property
    def longer(self) -> int:
        """Generations of the longer history."""
        return max(self.original, self.reenacted)

    @property
    def share(self) -> float:
        """The part of generations that agree, 1.0 if there are none at all."""
        return self.agreeing / self.longer if self.longer else 1.0


Face = tuple[tuple[str, ...], tuple[str, ...], tuple[str, ...]]


def score(original: Sequence[Generation], reenacted: Sequence[Generation]) -> Score:
    """Compare by the longest common subsequence; of several, one with the most equal moves."""
    ours, theirs = [_face(each) for each in original], [_face(each) for each in reenacted]
    best = [[(0, 0)] * (len(theirs) + 1) for _ in range(len(ours) + 1)]
    for i, face in enumerate(ours):
        for j, other in enumerate(theirs):
            best[i + 1][j + 1] = max(best[i][j + 1], best[i + 1][j])
            if face == other:
                agreeing, moved = best[i][j]
                same = original[i].moved.moved == reenacted[j].moved.moved
                best[i + 1][j + 1] = max(best[i + 1][j + 1], (agreeing + 1, moved + same))
    agreeing, moved = best[-1][-1]
    return Score(original=len(ours), reenacted=len(theirs), agreeing=agreeing, moved=moved)


def _face(generation: Generation) -> Face:
    return (
        tuple(sorted(member.client_id for member in generation.joined)),
        tuple(sorted(member.client_id for member in generation.left)),
        tuple(sorted(str(cause.kind) for cause in generation.causes)),
    )
