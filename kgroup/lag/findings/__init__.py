"""Findings of what is wrong with a group: who stands still, what proves it, what to try.

Read `model.py` first, then `find.py`; `proven_status.py` gives statuses by the same proofs.
"""
