"""A plan played on a cluster of this process, by members over TCP. Read `stage.py` first."""
