"""Keys and values of `__consumer_offsets` and `__transaction_state`, and their codec.

Read `entries.py` first, then `codec.py`.
"""
