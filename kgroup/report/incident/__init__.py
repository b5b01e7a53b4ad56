"""Incident reports: claims that each name the records they rest on, and how a reader sees them.

Read `claims.py` first. `document.py` puts the sentences together, once for Markdown and for a browser.
"""
