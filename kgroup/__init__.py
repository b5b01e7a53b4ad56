"""kgroup: diagnostics and operations for Kafka consumer groups.

Layers, each importing only those to its right (checked by import-linter):
`cli | testing > spark | sim | net | report > broker > group | log > assignors > protocol > errors` (and
`durations` and `java_properties` beside it).
Read `kgroup/protocol/records/entries.py` first: its dataclasses are what everything else handles.
"""

__version__ = "0.1.0"
