"""Record batches and message sets as bytes: headers, varints, compression. Read `batch.py` first."""
