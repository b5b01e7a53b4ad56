"""Plays a plan on a cluster in this process, with members over TCP. Read `stage.py` first."""
