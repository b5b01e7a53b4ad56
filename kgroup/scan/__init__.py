"""The columnar path over segments: frequent record types at memory speed, into Arrow.

May import `kgroup.log`, `kgroup.protocol` and `kgroup.errors`. Read `reductions/scan.py` first, then
`kernels/batches.py`.
"""
