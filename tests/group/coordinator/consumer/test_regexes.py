"""Which expressions a broker of 4.3.1 refuses (RE2/J), as it was asked, and which it takes."""

import pytest

from kgroup.group.coordinator.consumer.refused import Refused
from kgroup.group.coordinator.consumer.regexes import check_regex, resolve
from kgroup.protocol.error_codes import ErrorCode


@pytest.mark.parametrize(
    "regex",
    [
        "(",
        "[a",
        "*",
        "(?=a)",
        r"\1",
        r"\Z",
        "a{1001}",
        r"\Conf-a",
        r"\C",
        "(?P<n>c)(?P<n>o)nf-a",
        "(?<n>c)(?P<n>o)nf-a",
        "conf{+",
        "conf{*?",
        "conf{{2}",
    ],
)
def test_what_is_refused(regex: str) -> None:
    with pytest.raises(Refused) as refused:
        check_regex(regex)
    assert refused.value.error is ErrorCode.INVALID_REGULAR_EXPRESSION


@pytest.mark.parametrize(
    ("regex", "matches"),
    [
        (r"\QConf\C\E.*", {"Conf\\C"}),
        (r"[{+]+", {"{+", "{{"}),
        (r"\{+", {"{{"}),
        ("conf{-a", {"conf{-a"}),
        ("conf{,2}", {"conf{,2}"}),
        ("conf-a{1}?", {"conf-a"}),
        (r"\pL+-\p{Ll}{1}", {"conf-a"}),
        (r"(?P<n>conf)-(?P<m>a)", {"conf-a"}),
        (r"conf-[\]a]", {"conf-a"}),
        (r"conf-[[:alpha:]]", {"conf-a"}),
        ("(?i)CONF-A", {"conf-a"}),
        ("conf-", set()),
    ],
)
def test_what_is_taken_matches_whole_names(regex: str, matches: set[str]) -> None:
    check_regex(regex)
    names = ["Conf\\C", "{+", "{{", "conf{-a", "conf{,2}", "conf-a", "conf-a2"]
    assert resolve([regex], names)[regex] == matches
