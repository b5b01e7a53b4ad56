"""What an API's client must be allowed, and the answers to those who are not, as in Kafka's `KafkaApis`.

A guard stands before each handler of `apis`: it refuses a request as a whole, takes out of it what its
client has no right to, or takes out of the answer what that client must not see. Read `rights.py` first.
"""
