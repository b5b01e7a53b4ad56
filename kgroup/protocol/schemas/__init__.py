"""Kafka message definitions that kafka-python lacks, as JSON: every record of the offsets topic, and what Connect workers say."""
