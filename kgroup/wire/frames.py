"""Frames to calls and answers to frames: the only module that knows request and response headers.

Bodies are kafka-python's codec's, or for the apis that come by the thousand those of functions made from its
schemas (`request_decoder.py`, `response_encoder.py`). A response body may be any object that has the
schema's field names as attributes, so kgroup's own dataclasses are written without a copy.
"""

import struct
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Final, NamedTuple

from kafka.protocol.schemas.fields.codecs import EncodeBufferPool

from kgroup.errors import KgroupError
from kgroup.wire.field_checks import Check, compile_check
from kgroup.wire.python_source import Rows
from kgroup.wire.request_decoder import Decoder, as_rows, compile_decoder
from kgroup.wire.response_encoder import Encoder, compile_encoder

_REQUEST_HEADER: Final = struct.Struct(">hhih")
_RESPONSE_HEADER: Final = struct.Struct(">ii")
_API_VERSIONS: Final = 18
CODEC_ERRORS: Final = (struct.error, ValueError, IndexError, AssertionError, OverflowError, TypeError)
"""The exceptions of kafka-python's codec for bytes that are not what they should be."""
Encode = Callable[[Any, Any], None]
Decode = Callable[[memoryview, int], tuple[Any, int]]


class BadRequestError(KgroupError):
    """Bytes that no answer can be given to: the connection they came on has to close."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Sender:
    """The sender of requests, as Kafka writes a principal, and the name of the listener they come in by."""

    principal: str = "User:ANONYMOUS"
    listener: str = "PLAINTEXT"


NOBODY_SPECIAL: Final = Sender()


class Call(NamedTuple):
    """One decoded request. `token` is the connection's; the answer goes back with it.

    `number` tells the connection which of its requests an answer is for. `amend`, if there is one, makes of
    the answer that a handler gives the one to send.
    """

    token: int
    api_key: int
    version: int
    correlation_id: int
    client_id: str
    client_host: str
    body: Any
    sender: Sender = NOBODY_SPECIAL
    number: int = 0
    amend: Callable[[Any], Any] | None = None


class Api:
    """One api: its codec classes and the versions a node speaks.

    With `rows`, which may be empty, its codec is compiled: the structs they name are tuples of these types.
    """

    def __init__(
        self,
        request: Any,
        response: Any,
        lowest: int,
        highest: int,
        advertised_lowest: int | None = None,
        rows: Rows | None = None,
    ):
        self.key: int = request.API_KEY
        self.name: str = request.name.removesuffix("Request")
        self.lowest, self.highest = lowest, highest
        self.advertised_lowest = lowest if advertised_lowest is None else advertised_lowest
        self.request = request
        self.response = response
        flexible = [version for version in range(highest + 1) if request.flexible_version_q(version)]
        self._flexible_from = min(flexible, default=highest + 1)
        self._decoders: dict[int, Decode] = {}
        self._checks: dict[int, Check | None] = {}
        self._encoders: dict[int, Encode] = {}
        self.rows = rows
        self._compiled_decoders: dict[int, Decoder] = {}
        self._compiled_encoders: dict[int, Encoder] = {}

    def is_flexible(self, version: int) -> bool:
        """Whether a version has compact and tagged fields (KIP-482)."""
        return version >= self._flexible_from

    def decode(self, frame: bytes, position: int, version: int) -> Any:
        """The request's body. Raises BadRequestError unless the bytes hold one."""
        if self.rows is None:
            return self._decode_any(memoryview(frame), position, version)
        compiled = self._compiled_decoders.get(version)
        if compiled is None:
            compiled = compile_decoder(self.request, version, self.is_flexible(version), self.rows)
            self._compiled_decoders[version] = compiled
        try:
            return compiled(frame, position)
        except CODEC_ERRORS:
            body = self._decode_any(memoryview(frame), position, version)
            return as_rows(body, self.request._struct.fields, version, self.rows)

    def _decode_any(self, frame: memoryview, position: int, version: int) -> Any:
        decoder = self._decoders.get(version)
        if decoder is None:
            flexible = self.is_flexible(version)
            decoder = self.request._struct.compiled_decode_from(
                version, compact=flexible, tagged=flexible, data_class=self.request
            )
            self._decoders[version] = decoder
            self._checks[version] = compile_check(self.request._struct.fields, version)
        check = self._checks[version]
        try:
            body, end = decoder(frame, position)
            if check is not None:
                check(body)
        except CODEC_ERRORS as error:
            raise BadRequestError(f"{self.name} v{version}: {error}") from error
        if end > len(frame):
            raise BadRequestError(f"{self.name} v{version}: cut short by {end - len(frame)} bytes")
        return body

    def encode(self, body: Any, version: int, correlation_id: int) -> bytes:
        """The response frame with its length in front."""
        if self.rows is not None:
            compiled = self._compiled_encoders.get(version)
            if compiled is None:
                compiled = compile_encoder(self.response, version, self.is_flexible(version), self.rows)
                self._compiled_encoders[version] = compiled
            return compiled(body, correlation_id)
        flexible = self.is_flexible(version)
        encoder = self._encoders.get(version)
        if encoder is None:
            encoder = self.response._struct.compiled_encode_into(version, compact=flexible, tagged=flexible)
            self._encoders[version] = encoder
        with EncodeBufferPool.acquire() as out:
            out.pos = 8
            # ApiVersions keeps the old header, so that a client can read it before it knows the broker.
            if flexible and self.key != _API_VERSIONS:
                out.buf[8] = 0
                out.pos = 9
            encoder(body, out)
            _RESPONSE_HEADER.pack_into(out.buf, 0, out.pos - 4, correlation_id)
            return bytes(out.result())


def read_call(
    frame: bytes,
    token: int,
    client_host: str,
    apis: dict[int, Api],
    sender: Sender = NOBODY_SPECIAL,
    number: int = 0,
) -> Call:
    """The request in a frame (without its length).

    An ApiVersions of a version that is not spoken comes back with body None, since it has an answer.
    Raises BadRequestError for anything else that cannot be understood.
    """
    if len(frame) < _REQUEST_HEADER.size:
        raise BadRequestError(f"a request of {len(frame)} bytes")
    api_key, version, correlation_id, length = _REQUEST_HEADER.unpack_from(frame)
    api = apis.get(api_key)
    if api is None:
        raise BadRequestError(f"unknown api key {api_key}")
    if not api.lowest <= version <= api.highest:
        if api_key == _API_VERSIONS:
            return Call(
                token=token,
                api_key=api_key,
                version=0,
                correlation_id=correlation_id,
                client_id="",
                client_host=client_host,
                body=None,
                sender=sender,
                number=number,
            )
        raise BadRequestError(f"{api.name} v{version}: versions {api.lowest} to {api.highest} are spoken")
    position = _REQUEST_HEADER.size
    client_id = ""
    if length >= 0:
        # Java's strings take U+FFFD for what is not UTF-8, and so a client with such an id is served.
        client_id = str(frame[position : position + length], "utf-8", "replace")
        position += length
    if api.is_flexible(version):
        position = _skip_tags(frame, position)
    body = api.decode(frame, position, version)
    return Call(token, api_key, version, correlation_id, client_id, client_host, body, sender, number)


def required(array: Sequence[Any] | None) -> Sequence[Any]:
    """An array that must not be null. Raises BadRequestError if it is."""
    if array is None:
        raise BadRequestError("an array that cannot be null is null")
    return array


def text(value: str | None) -> str:
    """A string that must not be null. Raises BadRequestError if it is."""
    if value is None:
        raise BadRequestError("a string that cannot be null is null")
    return value


def blob(value: bytes | None) -> bytes:
    """Bytes that must not be null. Raises BadRequestError if they are."""
    if value is None:
        raise BadRequestError("bytes that cannot be null are null")
    return value


def _skip_tags(frame: bytes, position: int) -> int:
    count, position = _unsigned_varint(frame, position)
    for _ in range(count):
        _, position = _unsigned_varint(frame, position)
        size, position = _unsigned_varint(frame, position)
        position += size
        if position > len(frame):
            raise BadRequestError("header: a tagged field is cut short")
    return position


def _unsigned_varint(frame: bytes, position: int) -> tuple[int, int]:
    number = shift = 0
    while shift < 35:
        if position >= len(frame):
            raise BadRequestError("header: cut short")
        byte = frame[position]
        position += 1
        number |= (byte & 0x7F) << shift
        if byte < 0x80:
            return number, position
        shift += 7
    raise BadRequestError("header: a number of more than 5 bytes")
