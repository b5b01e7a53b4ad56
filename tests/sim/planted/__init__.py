"""Bugs planted in coordinators and members of both protocols, and the seeds of the swarm that find them.

`python -m tests.sim.planted` plants each one of `*.toml` in a process of its own and plays seeds until a
checker speaks; the work tree stays as it is. `place.py` has the import hook.
"""
