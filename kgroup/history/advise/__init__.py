"""What a group's own history says of its settings, and of a client that is about to join it.

Read `model.py` first, then `advise.py`; `gate.py` judges a client's properties.
"""
