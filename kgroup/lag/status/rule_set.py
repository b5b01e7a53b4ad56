"""The names of the sets of status rules; `rule_sets.py` has the rules, and all that they are made of."""

from enum import StrEnum


class RuleSet(StrEnum):
    """The names of the rules to choose from."""

    BURROW = "burrow"
    KGROUP = "kgroup"
