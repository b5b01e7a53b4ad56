"""Advice from a group's own history: on its settings, and on a client that is about to join it.

Read `model.py` first, then `advise.py`; `gate.py` judges a client's properties.
"""
