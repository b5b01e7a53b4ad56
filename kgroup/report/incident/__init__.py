"""Incident reports: claims that each name their records, and the forms in which a reader sees them.

Read `claims.py` first. `document.py` puts the sentences together, once for Markdown and for a browser.
"""
