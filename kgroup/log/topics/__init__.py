"""The logs of data topics: where they end, where they ended at a given time, and what is unread.

Read `log_ends.py` first, then `topic_logs.py`.
"""
