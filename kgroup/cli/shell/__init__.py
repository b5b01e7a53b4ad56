"""The command line as a whole: the application, shared options, completion, messages.

Read `app.py` first, then `options.py` and `bundle.py`.
"""
