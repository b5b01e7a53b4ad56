"""`kgroup top` at work: the reports and pages behind the screen, the thread that makes them, the terminal.

What is shown, and what keys do, is pure and in `kgroup.report.top`. Read `run.py` first.
"""
