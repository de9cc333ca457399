"""A hash of texts for near duplicates: 64 bits, most of which similar texts share (Charikar 2002;
Manku, Jain and Das Sarma 2007).
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

#: texts that differ in at most this many bits are near duplicates; four bands of 16 bits find all
#: such pairs
NEAR_BITS = 3
#: texts that differ in this many bits have nine tenths of their features in common
ALIKE_BITS = 8
#: shorter texts cannot be compared
LEAST_BYTES = 48
FOLDED = bytes.maketrans(
    b"123456789ABCDEFGHIJKLMNOPQRSTUVWXYZ", b"000000000abcdefghijklmnopqrstuvwxyz"
)
BLANKS = b" \t\n\r\f\v"
#: a text with fewer features is hashed by all of them
SAMPLED_FROM = 4096
#: features of a longer text count if their hash is below this: a sixteenth of them
SAMPLED_BELOW = np.uint64(1 << 60)
#: odd constants that spread the bits of a number (splitmix64)
SPREAD = (np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB))
#: positions of bits in a byte, the highest first, and the lowest bit of each byte
PLACES = np.arange(7, -1, -1, dtype=np.uint64).reshape(8, 1)
LOWEST = np.uint64(0x0101010101010101)


def folded_text(text: str) -> bytes:
    """The parts of a text that count: without blanks, in lower case, and with all digits replaced
    by one.
    """
    return text.encode(errors="replace").translate(FOLDED, BLANKS)


def simhash(text: str) -> int | None:
    """Return the hash of a text, as a signed number; None if the text is too short.

    Blanks do not count, and all digits are alike, since dates and counters change.

    Features are eight bytes in a row; for a longer text a sixteenth of them, chosen by their hash.
    """
    body = folded_text(text)
    if len(body) < LEAST_BYTES:
        return None
    features: np.ndarray = np.ndarray((len(body) - 7,), np.uint64, body, strides=(1,)) * SPREAD[0]
    if len(features) > SAMPLED_FROM:
        features = features.compress(features < SAMPLED_BELOW)  # indexing takes twice the time
    features = (features ^ (features >> np.uint64(29))) * SPREAD[1]
    features ^= features >> np.uint64(32)
    return _majority_bits(features)


def _majority_bits(features: np.ndarray) -> int:
    """The bits that more than half of the features have.

    Eight bytes are added at a time, each of which counts up to 255. This takes a third of the time
    of counting bits one by one.
    """
    if not len(features):
        return 0
    bits = features >> PLACES
    bits &= LOWEST
    sums = np.add.reduceat(bits, np.arange(0, len(features), 255), axis=1)
    counts = sums.view(np.uint8).reshape(8, -1, 8).sum(axis=1, dtype=np.uint32).T
    half = len(features) // 2
    return int(np.packbits(counts > half).view(np.int64)[0])


def is_alike(one: int, others: Sequence[int], most_bits: int = ALIKE_BITS) -> bool:
    if not others:
        return False
    differing = np.bitwise_count(np.fromiter(others, np.int64, len(others)) ^ np.int64(one))
    return bool((differing <= most_bits).any())
