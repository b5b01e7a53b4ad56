"""Metrics as a scraper reads them: every line by hand, from Prometheus' description of its text format."""

from typing import Any

from kgroup.report.lag.metrics import LookSummary, failed_metrics, lag_metrics
from tests.report.lag.test_sums import row

SUMMARY = LookSummary(at_ms=1_700_000_000_500, seconds=0.25, problems=2)


def metric_row(group: str, topic: str, partition: int, lag: int | None, **more: Any) -> dict[str, Any]:
    ends = {
        "current_offset": None if lag is None else 10 - lag,
        "log_start_offset": None,
        "log_end_offset": 10,
    }
    return row(group, topic, partition, lag, **{**ends, **more})


def test_the_metrics_of_a_group() -> None:
    rows = [
        metric_row("g", "t", 0, 4, member="m", log_start_offset=2),
        metric_row("g", "t", 1, None, log_end_offset=None),
    ]
    labels = 'group="g",topic="t",partition="0",member_host="/10.0.0.1",consumer_id="m",client_id="M"'
    samples = [line for line in lag_metrics(rows, SUMMARY) if not line.startswith("#")]
    assert samples == [
        f"kafka_consumergroup_group_offset{{{labels}}} 6",
        f"kafka_consumergroup_group_lag{{{labels}}} 4",
        'kafka_partition_earliest_offset{topic="t",partition="0"} 2',
        'kafka_partition_latest_offset{topic="t",partition="0"} 10',
        'kafka_consumergroup_group_max_lag{group="g"} 4',
        'kafka_consumergroup_group_sum_lag{group="g"} 4',
        'kgroup_group_unknown_lag_partitions{group="g"} 1',
        'kafka_consumergroup_group_topic_sum_lag{group="g",topic="t"} 4',
        'kgroup_group_info{group="g",kind="classic",state="Stable"} 1',
        "kgroup_up 1",
        "kgroup_look_duration_seconds 0.25",
        "kgroup_look_timestamp_seconds 1700000000.5",
        "kgroup_look_problems 2",
    ]


def test_time_lags_are_seconds_and_name_their_method() -> None:
    rows = [metric_row("g", "t", 0, 4, time_lag_ms=1500, time_lag_method="bisect", growth_per_s=-0.5)]
    text = "\n".join(lag_metrics(rows, SUMMARY))
    none = 'member_host="",consumer_id="",client_id=""'
    assert f'_lag_seconds{{group="g",topic="t",partition="0",{none},method="bisect"}} 1.5\n' in text
    assert 'kafka_consumergroup_group_max_lag_seconds{group="g"} 1.5\n' in text
    assert f'kgroup_group_lag_growth{{group="g",topic="t",partition="0",{none}}} -0.5\n' in text


def test_a_status_is_a_label() -> None:
    rows = [metric_row("g", "t", 0, 4, status="STALL", rule="stalled")]
    expected = 'kgroup_partition_status{group="g",topic="t",partition="0",status="STALL",rule="stalled"} 1'
    assert expected in lag_metrics(rows, SUMMARY)


def test_each_metric_has_its_help_and_type_before_its_samples_which_stand_together() -> None:
    rows = [metric_row(group, "t", partition, 1) for group in "ab" for partition in (0, 1)]
    lines = list(lag_metrics(rows, SUMMARY))
    names = [
        line.split(" ")[2] if line.startswith("#") else line.partition("{")[0].split(" ")[0] for line in lines
    ]
    blocks = [name for number, name in enumerate(names) if number == 0 or names[number - 1] != name]
    assert len(blocks) == len(set(blocks))
    for number, name in enumerate(names):
        if number == 0 or names[number - 1] != name:
            assert lines[number].startswith(f"# HELP {name} ")
            assert lines[number + 1] == f"# TYPE {name} gauge"


def test_a_log_that_two_groups_read_has_one_sample() -> None:
    rows = [metric_row(group, "t", partition, 1) for group in "ab" for partition in (10, 9)]
    latest = [line for line in lag_metrics(rows, SUMMARY) if line.startswith("kafka_partition_latest_offset")]
    assert latest == [
        'kafka_partition_latest_offset{topic="t",partition="9"} 10',
        'kafka_partition_latest_offset{topic="t",partition="10"} 10',
    ]


def test_no_label_holds_what_a_terminal_obeys_and_none_looks_like_another() -> None:
    lines = lag_metrics([metric_row("a\x1b\\\u202e", "t", 0, 1), metric_row("b\\x1b", "t", 0, 1)], SUMMARY)
    # The format has one escape of its own for each backslash.
    assert r'kafka_consumergroup_group_sum_lag{group="a\\x1b\\\\\\u202e"} 1' in lines
    assert r'kafka_consumergroup_group_sum_lag{group="b\\x1b"} 1' in lines


def test_names_are_escaped_as_the_format_says() -> None:
    lines = lag_metrics([metric_row('a"b\\c\nd', "t", 0, 1)], SUMMARY)
    assert 'kafka_consumergroup_group_sum_lag{group="a\\"b\\\\c\\nd"} 1' in lines


def test_a_look_that_failed_is_down_and_says_nothing_else() -> None:
    samples = [line for line in failed_metrics(LookSummary(at_ms=None, seconds=5.0)) if line[0] != "#"]
    assert samples == ["kgroup_up 0", "kgroup_look_duration_seconds 5.0"]
