"""Stored files in a bucket of an S3-compatible server.

Names of objects come from rows of the database, so a list of the server that lacks the newest
objects loses nothing. Programs that need a path get a copy in the directory of this machine.
"""

from __future__ import annotations

import errno
import io
import os
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager, suppress
from functools import lru_cache
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

import botocore.session
from botocore.config import Config
from botocore.exceptions import (
    BotoCoreError,
    ClientError,
    ConnectionError,
    HTTPClientError,
    IncompleteReadError,
    NoCredentialsError,
)

from crawling.base.storage import NAME, DirectoryStorage, pieces_of

#: the size of the parts of an upload, which are in memory; S3 takes at least 5 MiB
PART_BYTES = 8 * 1024 * 1024
#: A reader asks for ranges that grow while it reads on: one record takes one request of this size.
FIRST_RANGE_BYTES = 128 * 1024
MOST_RANGE_BYTES = 4 * 1024 * 1024
#: the tries of a request
TRIES = 5
CONNECT_SECONDS = 5
#: the wait before the second try; each further wait is three times as long
WAIT_SECONDS = 0.1
#: without any byte
READ_SECONDS = 20
#: the folder of copies in the directory of this machine; no stored file is in it
COPIES = "copies"
#: a copy that was not used for so long is removed
COPY_SECONDS = 24 * 3600.0

LOST_NAMES = {"NoSuchKey", "404"}
REFUSALS = {
    "403",
    "AccessDenied",
    "ExpiredToken",
    "InvalidAccessKeyId",
    "InvalidToken",
    "SignatureDoesNotMatch",
}
FULL = {"507", "InsufficientStorage", "QuotaExceeded", "XMinioStorageFull"}


class BucketRefuses(OSError):
    """The bucket does not accept what is asked until its operator changes something."""


class BucketStorage:
    """Files in a bucket, and those that are in the directory of this machine and not moved yet."""

    def __init__(self, url: str, local: DirectoryStorage) -> None:
        """url: `s3://bucket/prefix`"""
        parts = urlsplit(url)
        self._bucket, self._prefix = parts.netloc, parts.path.strip("/")
        self._local = local
        self._copies = DirectoryStorage(local.workspace(COPIES))

    def open(self, name: str, offset: int = 0) -> BinaryIO:
        with suppress(FileNotFoundError):
            return self._local.open(name, offset)
        return io.BufferedReader(_RangeReader(self._get(self._key(name)), offset))

    def put(self, name: str, pieces: Iterable[bytes]) -> int:
        parts = _parts_of(pieces)
        first = next(parts, b"")
        second = next(parts, None)
        if second is None:
            self._ask("put_object", Key=self._key(name), Body=first)
            return len(first)
        return self._put_in_parts(name, _chained(first, second, parts))

    def _put_in_parts(self, name: str, parts: Iterator[bytes]) -> int:
        key, size = self._key(name), 0
        upload = self._ask("create_multipart_upload", Key=key)["UploadId"]
        try:
            done = []
            for number, part in enumerate(parts, 1):
                answer = self._ask(
                    "upload_part", Key=key, UploadId=upload, PartNumber=number, Body=part
                )
                done.append({"ETag": answer["ETag"], "PartNumber": number})
                size += len(part)
            self._complete(name, key, upload, done, size)
        except BaseException:
            with suppress(OSError):  # the bucket's own rule removes what is left of an upload
                self._ask("abort_multipart_upload", Key=key, UploadId=upload)
            raise
        return size

    def _complete(
        self, name: str, key: str, upload: str, parts: list[dict[str, Any]], size: int
    ) -> None:
        try:
            self._ask(
                "complete_multipart_upload",
                Key=key,
                UploadId=upload,
                MultipartUpload={"Parts": parts},
            )
        except OSError:
            # The answer to an earlier try may have been lost; then the upload is gone.
            if self._remote_size(name) != size:
                raise

    def path(self, name: str) -> Path:
        own, copy = self._local.path(name), self._copies.path(name)
        if own.exists():
            return own
        with suppress(FileNotFoundError):
            if not copy.exists():
                self._remove_old_copies()
                source = _RangeReader(self._get(self._key(name)), 0)
                self._copies.put(name, pieces_of(io.BufferedReader(source, MOST_RANGE_BYTES)))
            os.utime(copy)
        return copy

    def _remove_old_copies(self) -> None:
        now = time.time()
        for path in self._local.workspace(COPIES).rglob("*"):
            with suppress(FileNotFoundError):  # another process has removed it
                if path.is_file() and now - path.stat().st_mtime > COPY_SECONDS:
                    path.unlink()

    def workspace(self, folder: str) -> Path:
        return self._local.workspace(folder)

    def list(self, folder: str) -> dict[str, int]:
        sizes = dict(self._objects(folder))
        return dict(sorted({**sizes, **self._local.list(folder)}.items()))

    def names_with_unfinished(self, folder: str) -> set[str]:
        return {name for name, _ in self._objects(folder)} | self._local.names_with_unfinished(
            folder
        )

    def _objects(self, folder: str) -> Iterator[tuple[str, int]]:
        begin = f"{self._prefix}/{folder}/".lstrip("/")
        further: dict[str, Any] = {}
        while True:
            answer = self._ask("list_objects_v2", Prefix=begin, **further)
            for one in answer.get("Contents", ()):
                yield one["Key"].removeprefix(begin), one["Size"]
            if not answer.get("IsTruncated"):
                return
            further = {"ContinuationToken": answer["NextContinuationToken"]}

    def size(self, name: str) -> int | None:
        size = self._local.size(name)
        return self._remote_size(name) if size is None else size

    def _remote_size(self, name: str) -> int | None:
        key = self._key(name)
        try:
            return int(self._ask("head_object", Key=key)["ContentLength"])
        except FileNotFoundError:
            pass
        # An answer to HEAD does not say whether the object or the whole bucket is missing.
        with suppress(FileNotFoundError):
            self._get(key)(0, 1)
        return None

    def delete(self, name: str) -> None:
        self._local.delete(name)
        self._copies.delete(name)
        self._ask("delete_object", Key=self._key(name))

    def delete_folder(self, folder: str) -> None:
        for name in self.names_with_unfinished(folder):
            self.delete(f"{folder}/{name}")
        self._local.delete_folder(folder)

    def _key(self, name: str) -> str:
        """The object's key. Raises ArchiveTrouble for an invalid name."""
        if not NAME.fullmatch(name):
            self._local.path(name)
        return f"{self._prefix}/{name}".lstrip("/")

    def _get(self, key: str) -> Callable[[int, int], bytes]:
        """A function that reads a range of an object: fewer bytes at its end, none behind it."""

        def read(begin: int, end: int) -> bytes:
            with suppress(_BehindEnd):
                asked = f"bytes={begin}-{end - 1}"
                return bytes(self._ask("get_object", _whole_body, Key=key, Range=asked))
            return b""

        return read

    def _ask(
        self, operation: str, take: Callable[[Any], Any] = lambda answer: answer, **values: Any
    ) -> Any:
        """Send a request, and again after a fault of a moment. Raises OSError.

        take: reads the answer, as part of the try.
        """
        with _errors_as_ours(self._bucket):
            for number in range(1, TRIES + 1):
                try:
                    call = getattr(_client(os.getpid()), operation)
                    return take(call(Bucket=self._bucket, **values))
                except (BotoCoreError, ClientError) as error:
                    if number == TRIES or not _may_pass(error):
                        raise
                    # no event tells that a server has recovered; all waits together are 4 s
                    time.sleep(WAIT_SECONDS * 3 ** (number - 1))
        raise AssertionError("each try returns or raises")


class _BehindEnd(OSError):
    """The range begins behind the end of the object."""


class _RangeReader(io.RawIOBase):
    """An object from an offset on, read range by range. Raises FileNotFoundError at once."""

    def __init__(self, read: Callable[[int, int], bytes], offset: int) -> None:
        self._read, self._at, self._range = read, offset, FIRST_RANGE_BYTES
        self._begin, self._bytes = offset, read(offset, offset + FIRST_RANGE_BYTES)
        self._is_last = len(self._bytes) < FIRST_RANGE_BYTES

    def readable(self) -> bool:
        return True

    def seekable(self) -> bool:
        return True

    def tell(self) -> int:
        return self._at

    def seek(self, offset: int, whence: int = os.SEEK_SET) -> int:
        if whence == os.SEEK_END:
            offset += self._end()
        self._at = offset + (self._at if whence == os.SEEK_CUR else 0)
        return self._at

    def _end(self) -> int:
        while not self._is_last:
            self._fetch(self._begin + len(self._bytes))
        return self._begin + len(self._bytes)

    def readinto(self, buffer: Any) -> int:
        is_known = self._begin <= self._at < self._begin + len(self._bytes)
        is_at_end = self._is_last and self._at >= self._begin + len(self._bytes)
        if not (is_known or is_at_end):
            self._fetch(self._at)
        start = self._at - self._begin
        found = self._bytes[start : start + len(buffer)]
        buffer[: len(found)] = found
        self._at += len(found)
        return len(found)

    def _fetch(self, begin: int) -> None:
        self._range = min(2 * self._range, MOST_RANGE_BYTES)
        self._bytes, self._begin = self._read(begin, begin + self._range), begin
        self._is_last = len(self._bytes) < self._range


@lru_cache(maxsize=1)
def _client(process: int) -> Any:
    """The client of this process. A forked process makes its own, since connections and threads of
    its parent are not for it. botocore reads the address and the credentials from AWS_* variables,
    or from where AWS has them for a machine or a container.
    """
    config = Config(
        connect_timeout=CONNECT_SECONDS,
        read_timeout=READ_SECONDS,
        retries={"total_max_attempts": 1},  # `_ask` tries again, with the bodies of answers
        # servers other than AWS do not know the newer checksums
        request_checksum_calculation="when_required",
        response_checksum_validation="when_required",
        s3={"addressing_style": "path"},
    )
    return botocore.session.get_session().create_client("s3", config=config)


def _whole_body(answer: Any) -> bytes:
    return bytes(answer["Body"].read())


def _may_pass(error: BotoCoreError | ClientError) -> bool:
    if isinstance(error, ClientError):
        status = error.response.get("ResponseMetadata", {}).get("HTTPStatusCode", 0)
        return (status >= 500 or status in (408, 429)) and _code(error) not in FULL
    return isinstance(error, ConnectionError | HTTPClientError | IncompleteReadError)


@contextmanager
def _errors_as_ours(bucket: str) -> Iterator[None]:
    try:
        yield
    except ClientError as error:
        raise _error_of_answer(bucket, _code(error), error) from error
    except NoCredentialsError as error:
        raise BucketRefuses(
            errno.EACCES,
            f"there are no credentials for the bucket {bucket}: set AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY",
        ) from error
    except BotoCoreError as error:
        raise OSError(errno.EIO, f"the bucket {bucket} cannot be reached: {error}") from error


def _code(error: ClientError) -> str:
    return str(error.response.get("Error", {}).get("Code", ""))


def _error_of_answer(bucket: str, code: str, error: ClientError) -> OSError:
    if code in LOST_NAMES:
        return FileNotFoundError(errno.ENOENT, f"it is not in the bucket {bucket}")
    if code in ("416", "InvalidRange"):
        return _BehindEnd(errno.EINVAL, "the range begins behind the end")
    if code in REFUSALS:
        return BucketRefuses(
            errno.EACCES,
            f"the bucket {bucket} refuses the credentials ({code}): check AWS_ACCESS_KEY_ID and "
            "AWS_SECRET_ACCESS_KEY, and what they may do",
        )
    if code == "NoSuchBucket":
        return BucketRefuses(
            errno.EACCES, f"there is no bucket {bucket}: create it, or correct ARCHIVE_URL"
        )
    if code in FULL:
        return BucketRefuses(
            errno.ENOSPC, f"the bucket {bucket} is full ({code}): free space, or raise its quota"
        )
    return OSError(errno.EIO, f"the bucket {bucket} cannot do this: {error}")


def _parts_of(pieces: Iterable[bytes]) -> Iterator[bytes]:
    """The bytes of the pieces in parts of PART_BYTES; the last one may be smaller."""
    buffer = bytearray()
    for piece in pieces:
        buffer += piece
        while len(buffer) >= PART_BYTES:
            yield bytes(buffer[:PART_BYTES])
            del buffer[:PART_BYTES]
    if buffer:
        yield bytes(buffer)


def _chained(first: bytes, second: bytes, rest: Iterator[bytes]) -> Iterator[bytes]:
    yield first
    yield second
    yield from rest
