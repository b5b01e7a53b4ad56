"""Kafka message definitions that kafka-python lacks, as JSON.

Every record of the offsets topic, and the messages of Connect workers.
"""
