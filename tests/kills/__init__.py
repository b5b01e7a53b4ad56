"""Brokers that die while clients write, again and again on one folder: what was acknowledged has to be there.

`python -m tests.kills` plays as many deaths as asked for; the tests play a few. Read `rounds.py` first.
"""
