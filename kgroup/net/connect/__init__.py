"""Connecting as a client: Java's properties, SASL, TLS, the first contact. Read `properties.py` first."""
