"""Every reduction of the commands goes into an option by its name, and comes out of it equal."""

import pickle

import pytest

from kgroup.errors import InputError
from kgroup.scan.reductions.last_commits import Keep
from kgroup.spark.named_reductions import reduction_as_json, reduction_of_json
from kgroup.spark.reductions import Both, LastCommitsOfEach, NewestRecords, ReachAndRounds

LAST = LastCommitsOfEach(Keep(slots=10))


@pytest.mark.parametrize(
    "reduction",
    [
        NewestRecords(),
        LAST,
        LastCommitsOfEach(Keep(slots=1, period_ms=900_000)),
        Both(Both(NewestRecords(), LAST), ReachAndRounds()),
        Both(LastCommitsOfEach(Keep(slots=10, longest=0)), ReachAndRounds(rounds=False)),
    ],
)
def test_a_reduction_comes_out_as_it_went_in(reduction):
    assert reduction_of_json(reduction_as_json(reduction)) == reduction


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[]",
        "{}",
        '{"name": "os.system"}',
        '{"name": "last-commits", "slots": "many", "period_ms": null, "longest": 4}',
        '{"name": "last-commits", "slots": 10, "period_ms": null, "longest": null}',
        '{"name": "last-commits", "slots": 10, "period_ms": null}',
        '{"name": "reach-and-rounds", "rounds": "some"}',
        '{"name": "both", "of": [{"name": "newest"}]}',
        pickle.dumps(NewestRecords()).decode("latin-1"),
    ],
)
def test_what_is_no_reduction_is_refused(text: str):
    with pytest.raises(InputError, match=r"^no reduction: "):
        reduction_of_json(text)


def test_a_reduction_without_a_name_goes_nowhere():
    class Own:
        def reduce(self, slices):
            return slices

        def merge(self, parts):
            return parts

    with pytest.raises(InputError, match=r"^Own: a reduction without a name$"):
        reduction_as_json(Own())
