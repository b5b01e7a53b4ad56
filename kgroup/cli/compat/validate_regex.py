"""`--validate-regex`: whether brokers accept a regular expression of a consumer group."""

from typing import Final

_RE2J: Final = {
    "missing )": "missing closing )",
    "missing ]": "missing closing ]",
    "no argument for repetition operator": "missing argument to repetition operator",
    "bad repetition operator": "invalid nested repetition operator",
    "trailing \\": "trailing backslash at end of expression",
    "unexpected )": "regexp/syntax: internal error",
    "invalid repetition size": "invalid repeat count",
    "invalid named capture group": "invalid named capture",
    "invalid perl operator": "invalid or unsupported Perl syntax",
}
"""What RE2 calls a mistake -> what RE2/J, Kafka's, calls it, where they differ."""


def validate_regex(regex: str) -> str:
    """The line that the tool prints."""
    import re2

    options = re2.Options()
    options.log_errors = False
    try:
        re2.compile(regex, options)
    except re2.error as error:
        said = error.args[0].decode() if error.args and isinstance(error.args[0], bytes) else str(error)
        why = said.partition(": ")[0]
        return f"The regular expression `{regex}` is invalid: {_RE2J.get(why, why)}."
    return f"The regular expression `{regex}` is valid."
