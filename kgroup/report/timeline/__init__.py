"""A group's history as rows, a page and a picture. Read `rows.py` first."""
