"""Memory of what has been read."""


def give_back() -> None:
    """Give memory that nothing uses any more back to the machine, before a stage that takes more of it.

    What was needed to read lies between what is left, and is too small for much else.
    """
    import pyarrow as pa

    pa.system_memory_pool().release_unused()
