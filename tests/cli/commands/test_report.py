import json
from pathlib import Path

FIXTURES = Path(__file__).parents[3] / "fixtures"
LIVES = str(FIXTURES / "3.9.1" / "lives")


def test_a_report_and_its_check(kgroup, tmp_path):
    path = tmp_path / "report.md"
    made = kgroup("report", LIVES, "--group", "push-storm", "--output", str(path))
    assert (made.status, made.out, made.err) == (0, "", "")
    text = path.read_text()
    assert text.startswith("# What happened to push-storm\n")
    assert "rebalance-storm" in text
    checked = kgroup("report", "--check", str(path), LIVES)
    claims = len(json.loads(text[text.rindex('{"kgroup_report"') : text.rindex(" -->")])["claims"])
    assert checked.status == 0
    assert checked.out == f"{path}: {claims} claims, each derived again from the records that it cites\n"


def test_a_report_of_another_log_does_not_hold(kgroup, tmp_path):
    path = tmp_path / "report.html"
    assert kgroup("report", LIVES, "--group", "left-behind", "-o", "html", "--output", str(path)).status == 0
    checked = kgroup("report", "--check", str(path), str(FIXTURES / "4.3.1" / "lives"))
    assert checked.status == 3
    assert "claim 1 (history, left-behind): the records that it cites say" in checked.err
    assert checked.err.splitlines()[-1].endswith("claims")


def test_json_has_the_claims(kgroup):
    ended = kgroup("report", LIVES, "--group", "push-storm", "-o", "json")
    claims = json.loads(ended.out)["claims"]
    assert {claim["kind"] for claim in claims} >= {"history", "rebalance", "pattern", "remedy"}


def test_a_time_without_anything_says_so(kgroup):
    ended = kgroup("report", LIVES, "--group", "push-storm", "--since", "2020-01-01", "--until", "2020-01-02")
    assert ended.status == 0
    assert "Nothing: no rebalance, no event and no finding." in ended.out
