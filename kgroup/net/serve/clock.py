"""The clock of a cluster on sockets."""

import time


class Clock:
    """Epoch ms that never go back, whatever is done to the machine's clock."""

    def __init__(self) -> None:
        self._epoch_s = time.time() - time.monotonic()

    def now_ms(self) -> int:
        """The time."""
        return int((self._epoch_s + time.monotonic()) * 1000)
