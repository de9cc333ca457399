"""One run of the Nu HTML checker over files, and what it says of them while it runs."""

from __future__ import annotations

import codecs
import json
import os
import subprocess
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from threading import Timer
from typing import Any, NamedTuple

from crawling.web.documents.base import one_line

#: where the program finds this project
ROOT = Path(__file__).parents[2]
PROGRAM = "crawling.links.nu_checker_program"
#: The heap has the tree of one document at a time. What else a JVM takes is bounded, too: compiled
#: code, classes, buffers. One thread compiles, and none writes a file.
JVM = (
    *("-Xmx256m", "-Xss4m", "-XX:MaxMetaspaceSize=96m", "-XX:ReservedCodeCacheSize=48m"),
    *("-XX:MaxDirectMemorySize=16m", "-XX:+UseSerialGC", "-XX:ActiveProcessorCount=1"),
    # the second compiler costs more than it saves in some hundred documents
    "-XX:TieredStopAtLevel=1",
    *("-XX:+ExitOnOutOfMemoryError", "-XX:-UsePerfData", "-XX:+DisableAttachMechanism"),
    "-XX:ErrorFile=/dev/null",
)
#: The checker has the schemas and DTDs that it needs and fetches nothing. If a version did, it
#: would ask a proxy at a closed port, also for this machine's own addresses.
NO_NETWORK = (
    "-Djava.net.useSystemProxies=false",
    "-Dhttp.nonProxyHosts=",
    *(f"-D{kind}.proxyHost=127.0.0.1" for kind in ("http", "https", "ftp")),
    *(f"-D{kind}.proxyPort=1" for kind in ("http", "https", "ftp")),
    *("-DsocksProxyHost=127.0.0.1", "-DsocksProxyPort=1", "-DsocksNonProxyHosts="),
)
#: JSON has the kinds of messages. Without a stream, an error that moves elements ends no document.
#: Detection of languages takes as long as all else.
OPTIONS = (
    *("--format", "json", "--stdout", "--exit-zero-always"),
    *("--no-langdetect", "--no-stream"),
)
MOST_MESSAGES = 100
MOST_TEXT = 500
#: characters that are read of what it says of a document, each message with its extract
MOST_OUTPUT = 2 * 1024 * 1024
#: characters of one message: values of attributes stand in some, escaped
LONGEST_OUTPUT = 8 * 1024 * 1024
PIECE_BYTES = 64 * 1024
BEGINNING, SEPARATOR, END = '"messages":[', ",", "]"


class NuMessage(NamedTuple):
    """What the checker says of one place in a document."""

    #: "error" or "warning"
    kind: str
    text: str
    #: where the place ends: the checker's beginnings are at the end of the line before, if that is
    #: where a tag begins; 0: nowhere in particular
    line: int


class BrokenAnswer(Exception):
    """The output ended early, or is none of the checker's."""


@dataclass
class RunResult:
    """What a run said, which may have ended early."""

    messages: list[list[NuMessage]]
    #: so many documents were checked, from the first on
    checked: int = 0
    #: it was ended behind a document of which it said too much
    is_cut: bool = False
    #: of the document at work
    texts: set[str] = field(default_factory=set)
    length: int = 0

    def add(self, document: int, told: dict[str, Any], length: int) -> bool:
        """Return whether the document may have more."""
        if document != self.checked:
            self.checked, self.length = document, 0
            self.texts.clear()
        self.length += length
        message = _message(told)
        if message and (message.text in self.texts or len(self.texts) < MOST_MESSAGES):
            self.texts.add(message.text)
            self.messages[document].append(message)
        return self.length <= MOST_OUTPUT


def run_checker(
    java: str, jar: Path, files: Sequence[Path], *, cpu_seconds: int, seconds: float, held_by: int
) -> RunResult:
    """Check files that are named by their numbers from 0 on, in order. It ends early at a document
    that is too much, and behind one of which it says too much.

    cpu_seconds: of the processor; seconds: of the clock; held_by: the descriptor of the folder.
    """
    command = (java, *JVM, *NO_NETWORK, "-jar", str(jar), *OPTIONS, *map(str, files))
    limits = (str(cpu_seconds), str(os.getpid()))
    result = RunResult([[] for _ in files])
    # our own program; what strangers wrote is in files
    program = subprocess.Popen(  # noqa: S603
        (sys.executable, "-E", "-s", "-m", PROGRAM, *limits, *command),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        bufsize=0,
        stderr=subprocess.DEVNULL,
        cwd=ROOT,
        env={},
        pass_fds=[held_by],
    )
    numbers = {path.name: number for number, path in enumerate(files)}
    timer = Timer(seconds, program.kill)
    timer.start()
    try:
        with program, suppress(BrokenAnswer):
            assert program.stdout
            try:
                read_output(iter(partial(program.stdout.read, PIECE_BYTES), b""), numbers, result)
            finally:
                program.kill()
    finally:
        timer.cancel()
    return result


def read_output(pieces: Iterable[bytes], numbers: dict[str, int], result: RunResult) -> None:
    """Read what is said of files, whose numbers are given by their names, as far as it goes. Raises
    BrokenAnswer; what was read until then counts.
    """
    for told, length in _objects(pieces):
        try:
            number = numbers[told["url"].rpartition("/")[2]]
        except (KeyError, AttributeError) as error:
            raise BrokenAnswer from error
        if not result.add(number, told, length):
            result.checked, result.is_cut = result.checked + 1, True
            return
    result.checked = len(numbers)


def _objects(pieces: Iterable[bytes]) -> Iterator[tuple[dict[str, Any], int]]:
    """The messages of the output, each with its length. Raises BrokenAnswer unless all end."""
    decoder, parser = codecs.getincrementaldecoder("utf-8")("replace"), json.JSONDecoder()
    text, has_begun = "", False
    for piece in pieces:
        text += decoder.decode(piece)
        position = 0
        if not has_begun:
            before, mark, text = text.partition(BEGINNING)
            if not mark:
                text = before
                continue
            has_begun = True
        while text.startswith(("{", SEPARATOR + "{"), position):
            start = position + text.startswith(SEPARATOR, position)
            try:
                told, end = parser.raw_decode(text, start)
            except json.JSONDecodeError:
                break
            yield told, end - start
            position = end
        if text.startswith(END, position):
            return
        text = text[position:]
        if len(text) > LONGEST_OUTPUT:
            raise BrokenAnswer
    raise BrokenAnswer


def _message(told: dict[str, Any]) -> NuMessage | None:
    """Errors of each kind, and warnings; no other remarks."""
    kind = "error"
    if told.get("type") == "info":
        if told.get("subType") != "warning":
            return None
        kind = "warning"
    line = max(int(told.get("lastLine", 0)), 0)
    return NuMessage(kind, one_line(told.get("message"), MOST_TEXT), line)
