"""The reasons Kafka's consumer gives the coordinator for a join (KIP-800), for its log.

Source: AbstractCoordinator of Kafka 4.3.1. An exception there has the simple name of its Java class.
"""

from typing import Final

from kgroup.protocol.error_codes import ErrorCode

_NO_ANSWER: Final = "DisconnectException"


def failed_round(error_code: ErrorCode | None) -> str:
    """JoinGroup or SyncGroup was refused; None: there was no answer."""
    exception = _NO_ANSWER if error_code is None else _exception(error_code)
    return f"rebalance failed due to {exception}"


def refusal(api: str, error_code: ErrorCode) -> str:
    """Another request was refused in a way that ends the membership; `api` is Kafka's ApiKeys name."""
    return f"encountered {error_code.name} from {api} response"


def _exception(error_code: ErrorCode) -> str:
    """Errors that a member lives through have exceptions named after them."""
    return "".join(word.capitalize() for word in error_code.name.split("_")) + "Exception"
