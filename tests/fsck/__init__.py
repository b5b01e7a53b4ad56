"""Logs crafted to be hard to load, what real brokers did with them, and `kgroup fsck` held against that."""
