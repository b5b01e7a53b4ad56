"""Client identities and rights, pure: listeners by Kafka's properties, SASL exchanges, ACLs.

May import `kgroup.wire` and what is below, and nothing of the cluster. Read `authorizer.py` first, then
`login.py` for what happens on a connection before it is let in.
"""
