"""How a client connects: Java's properties, SASL, TLS, the first contact. Read `properties.py` first."""
