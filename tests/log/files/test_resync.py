"""How much may be tried in the search for a healthy batch behind damage."""

from kgroup.log.files.resync import _FREE_TRIAL_BYTES, _TRIAL_RATIO, TrialBytes


def test_trials_come_to_an_end_and_bytes_passed_over_earn_more() -> None:
    trials = TrialBytes(start=1_000)
    assert trials.allow(1_000, _FREE_TRIAL_BYTES)
    assert not trials.allow(1_000, 1)
    assert trials.allow(1_001, _TRIAL_RATIO)
    assert not trials.allow(1_001, 1)
    assert trials.allow(1_003, _TRIAL_RATIO)
    assert trials.allow(1_003, _TRIAL_RATIO)
    assert not trials.allow(1_003, 1)
