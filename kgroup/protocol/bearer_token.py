"""Bearer tokens that are JSON Web Tokens: their claims, unverified here, and unsecured tokens.

RFC 7519 and RFC 7515, compact serialization: `HEADER.CLAIMS.SIGNATURE`, each in base64url without padding.
"""

import base64
import binascii
import json
import re
from collections.abc import Mapping
from typing import Any, Final

TOKEN: Final = re.compile(r"[A-Za-z0-9._~+/-]+=*")
"""What a bearer token is made of (RFC 6750, section 2.1, `b64token`)."""
_SECONDS_MAX: Final = 2**53
_UNSECURED: Final = {"alg": "none"}


def unsecured_token(claims: Mapping[str, Any]) -> str:
    """A token with these claims and no signature."""
    return f"{_encoded(_UNSECURED)}.{_encoded(claims)}."


def claims_of(token: str) -> Mapping[str, Any] | None:
    """The claims, with any signature; None for a token that is not a JSON Web Token."""
    parts = token.split(".")
    return _decoded(parts[1]) if len(parts) == 3 else None


def is_unsecured(token: str) -> bool:
    """Whether its header says that there is no signature, and there is none."""
    header, _, rest = token.partition(".")
    told = _decoded(header)
    return rest.count(".") == 1 and rest.endswith(".") and told is not None and told.get("alg") == "none"


def seconds_claim(claims: Mapping[str, Any] | None, name: str) -> float | None:
    """A time among the claims, `exp` or `iat`, in seconds since 1970 with fractions; None for no number."""
    value = None if claims is None else claims.get(name)
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if abs(value) < _SECONDS_MAX else None  # neither infinite nor NaN


def _encoded(fields: Mapping[str, Any]) -> str:
    text = json.dumps(fields, separators=(",", ":")).encode()
    return base64.urlsafe_b64encode(text).rstrip(b"=").decode()


def _decoded(part: str) -> dict[str, Any] | None:
    try:
        fields = json.loads(base64.urlsafe_b64decode(part + "=" * (-len(part) % 4)))
    except (binascii.Error, ValueError, RecursionError):
        return None
    return fields if isinstance(fields, dict) else None
