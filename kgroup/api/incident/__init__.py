"""Reports that prove themselves: claims made (`made.py`), cited (`cite.py`), derived anew (`check.py`).

A claim is a question with its answer. `derive.py` answers it from an `Evidence`, which holds some records and
nothing else; whoever makes a claim and whoever checks it calls the same code.
"""
