"""Data that executors pass on and a stream keeps, as versioned Arrow bytes; nothing in it is ever run.

`packing.py` is the form, and `pack` and `unpack` of `kinds.py` are all that others need; a kind of value
has its schemas and its version in a module of its own. Neither PySpark nor the scan is imported by importing
`packing`.
"""
