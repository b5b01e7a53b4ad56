"""Groups as they are now: from the coordinators of a live cluster, or from log files."""
