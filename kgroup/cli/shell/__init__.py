"""The command line as a whole: the application, options that commands share, completion, messages.

Read `app.py` first, then `options.py` and `bundle.py`.
"""
