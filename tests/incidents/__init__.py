"""Incidents that people met in production, played anew and written down as a broker's log directory.

`world.py` is a cluster small enough to read in one go: topics that grow, clients that poll, process, commit
and fail, and a coordinator that logs what Kafka's would. None of it is kgroup's, apart from the encoding of
records, so what a life's script did is the truth that kgroup is held against. `incidents.toml` lists what is
played, `conditions.toml` which answers name it, `results.toml` what came of it. Read `world.py` first, then
`lives/not_reading.py`.
"""
