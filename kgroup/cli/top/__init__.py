"""The working parts of `kgroup top`: reports and pages behind the screen, their thread, the terminal.

What is shown, and what keys do, is pure and in `kgroup.report.top`. Read `run.py` first.
"""
