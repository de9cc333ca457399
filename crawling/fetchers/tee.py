"""Keep what a content decoder is fed, beside what it makes of it."""

from __future__ import annotations

from typing import IO, Any


class _Tee:
    """A content decoder of urllib3 that copies its input."""

    def __init__(self, decoder: Any, payload: IO[bytes]) -> None:
        self._decoder, self._payload = decoder, payload

    def decompress(self, data: bytes, max_length: int = -1) -> bytes:
        self._payload.write(data)
        decoded: bytes = self._decoder.decompress(data, max_length=max_length)
        return decoded

    @property
    def has_unconsumed_tail(self) -> bool:
        return bool(self._decoder.has_unconsumed_tail)

    def flush(self) -> bytes:
        flushed: bytes = self._decoder.flush()
        return flushed


def tee_encoded(raw: Any, payload: IO[bytes]) -> bool:
    """Let a urllib3 response copy its body to `payload` as it is before decoding; False: nothing decodes it, so body and payload are one.

    urllib3 gives out either the encoded or the decoded bytes of a response, but not both. Its decoders know all the ways in which
    servers get gzip and deflate wrong and how to stop a bomb, so they stay, and are listened to.
    """
    raw._init_decoder()
    if raw._decoder is None:
        return False
    raw._decoder = _Tee(raw._decoder, payload)
    return True
