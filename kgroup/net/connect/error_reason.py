"""The reason in a connection or TLS error, for a message of kgroup's own.

Needs nothing of a client library: reading properties must not wait for kafka-python to be imported.
"""

import re
import ssl


def error_reason(error: Exception) -> str:
    """The words of an error without numbers and places in a source: `Connection refused`."""
    if isinstance(error, ssl.SSLError):
        bare = re.sub(r"^(\[.*?\] *)+| *\(_ssl\.c:\d+\)$", "", str(error))
        return (error.reason or bare).replace("_", " ").lower()
    return (isinstance(error, OSError) and error.strerror) or str(error) or type(error).__name__
