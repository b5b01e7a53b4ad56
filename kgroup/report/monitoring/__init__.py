"""The Grafana dashboard and Prometheus alert rules that ship with kgroup, as package files.

`shipped.py` has their texts. The metrics are those of `kgroup.report.lag.metrics`.
"""
