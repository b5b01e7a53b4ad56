"""Forecasts: when a group's lag exceeds a bound and when retention deletes unread records, as intervals.

Read `model.py` first, then `drift.py` (how a number goes on) and `deadlines.py` (when it meets a bound).
`python -m benchmarks.deadlines_backtest` says how often the intervals held.
"""
