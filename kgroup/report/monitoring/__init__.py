"""What Grafana and Prometheus take to watch kgroup: a dashboard and alert rules, files of this package.

`shipped.py` has their texts. The metrics are those of `kgroup.report.lag.metrics`.
"""
