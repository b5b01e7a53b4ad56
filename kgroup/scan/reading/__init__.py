"""Segments to blocks of rows, and to Arrow. Read `drive.py` first."""
