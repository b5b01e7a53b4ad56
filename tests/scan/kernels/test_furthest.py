"""How far anybody had got: the state between blocks."""

import numpy as np
import pytest

from kgroup.scan.kernels.furthest import (
    COUNT,
    FLOOR,
    Need,
    add_commits,
    clear,
    keys_of_places,
    names_of_places,
    new_furthest,
)
from kgroup.scan.kernels.rows import COMMIT, COMMIT_TIMESTAMP, KEY_ID, KIND, OFFSET, PRODUCER_ID, new_rows

pytestmark = pytest.mark.usefixtures("each_tier")


def test_what_was_cleared_knows_nothing_of_what_was_in_it():
    state = new_furthest()
    keys = keys_of_places([("orders", 0), ("orders", 1)])
    rows = new_rows(2)
    rows[KIND], rows[PRODUCER_ID], rows[KEY_ID, :2] = COMMIT, -1, [0, 1]
    rows[OFFSET], rows[COMMIT_TIMESTAMP] = 5, 1_700_000_000_000
    need, _ = add_commits(state, new_furthest(), np.full(2, -1, np.int64), keys, rows, 0, 2, 1)
    assert need == Need.NOTHING
    assert names_of_places(state.places) == [("orders", 0), ("orders", 1)]
    assert state.rings[:2, COUNT].tolist() == [1, 1] and state.rings[:2, FLOOR].all()
    clear(state)
    assert names_of_places(state.places) == []
    assert not state.rings.any() and not state.used.any()
