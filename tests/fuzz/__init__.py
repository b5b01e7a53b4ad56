"""Inputs that nobody would write, for everything that decodes. `python -m tests.fuzz` plays them.

`targets.py` names the decoders; `mutations.py` damages bytes; `segments.py` holds both paths over a segment
equal.
"""
