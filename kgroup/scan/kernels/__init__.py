"""Kernels for numba: batches, keys, checksums, the newest row of each key. Read `batches.py` first."""
