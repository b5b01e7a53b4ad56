"""The lines that kafka-consumer-groups 4.3 prints, of kgroup's own values. Pure: no line is printed here."""
