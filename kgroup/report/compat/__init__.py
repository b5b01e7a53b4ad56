"""The lines that kafka-consumer-groups 4.3 prints, made from kgroup's values. Pure: it prints nothing."""
