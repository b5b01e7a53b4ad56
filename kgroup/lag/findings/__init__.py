"""Findings on what is wrong with a group: what stands still, the evidence, what to try.

Read `model.py` first, then `find.py`; `proven_status.py` gives statuses by the same proofs.
"""
