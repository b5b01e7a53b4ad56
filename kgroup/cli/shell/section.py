"""The sections of a command's help, in their order, which is the same for every command."""

from enum import StrEnum


class Section(StrEnum):
    """What an option is about; its `rich_help_panel`."""

    SOURCE = "Source"
    SELECTION = "Selection"
    SETUP = "Setup"
    SHOWN = "What to show"
    OUTPUT = "Output"
    BEHAVIOUR = "Behaviour"
    SPARK = "Spark"
