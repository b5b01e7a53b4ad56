"""The lives: functions of a World that do what went wrong, or what is well, and say so in its diary."""
