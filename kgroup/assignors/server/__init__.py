"""Assignors that run in the coordinator: those of consumer groups (KIP-848) and share groups (KIP-932).

Read `coordinator_view.py` first, then `range.py`.
"""
