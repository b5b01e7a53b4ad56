"""The rights each API requires, and the answers to clients without them, as in Kafka's `KafkaApis`.

A guard stands before each handler of `apis`: it refuses a request as a whole, takes out of it what its
client has no right to, or takes out of the answer what that client must not see. Read `rights.py` first.
"""
