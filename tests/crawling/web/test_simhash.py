"""Near texts share most of 64 bits; others about half."""

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from crawling.web.simhash import ALIKE_BITS, NEAR_BITS, is_alike, simhash


def text(seed, words=1000):
    told = random.Random(seed)
    return " ".join(
        "".join(told.choice("abcdefghijklmnopqrstuvwxyz") for _ in range(told.randint(2, 9)))
        for _ in range(words)
    )


def distance(one, other):
    return ((simhash(one) ^ simhash(other)) & (2**64 - 1)).bit_count()


@pytest.mark.parametrize("seed", range(10))
def test_texts_that_differ_by_a_word_are_near_and_others_are_not(seed):
    assert distance(text(seed), text(seed) + " a word more") <= NEAR_BITS
    assert distance(text(seed), text(seed + 100)) > 12
    assert distance(text(seed), text(seed, 500) + " " + text(seed + 100, 500)) > ALIKE_BITS


def test_numbers_blanks_and_capitals_make_no_difference():
    assert simhash("It was the 1st of May 2026, and nothing was planned for this day.") == simhash(
        "it was the  9th of may 1999,\nand nothing was planned for this day.".replace(
            "th of", "st of"
        )
    )


def test_too_little_text_is_not_compared():
    assert simhash("too little") is None
    assert not is_alike(0, [])


def test_one_like_text_among_many_is_found():
    others = [simhash(text(seed)) for seed in range(20)]

    assert is_alike(simhash(text(7) + " more"), others)
    assert not is_alike(simhash(text(77)), others)


@pytest.mark.parametrize(
    ("some", "bits"),
    [
        # of one feature, which the sample has not
        ("a" * 20_000, 0),
        # of which all features are taken, and a sample
        (text(1, 500), 6412330983857915060),
        (text(1), -7039815481847095283),
    ],
)
def test_stored_hashes_can_be_compared_with_new_ones(some, bits):
    assert simhash(some) == bits


@given(st.text(max_size=300))
def test_every_text_has_64_bits_or_none(some):
    bits = simhash(some)

    assert bits is None or -(2**63) <= bits < 2**63
    assert bits == simhash(some)
