"""Reports that prove themselves: claims made (`made.py`), cited (`cite.py`), derived again (`check.py`).

A claim is a question with its answer. `derive.py` answers it from an `Evidence`, which holds some records and
nothing else; making and checking a claim call the same code.
"""
