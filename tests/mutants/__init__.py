"""Planted bugs, and whether the tests notice: `python -m tests.mutants`."""
