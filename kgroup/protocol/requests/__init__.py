"""Requests to coordinators and brokers, free of wire versions. Read `coordinator.py` first."""
