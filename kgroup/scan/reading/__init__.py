"""From a segment to blocks of rows, and to Arrow. Read `reader.py` first."""
