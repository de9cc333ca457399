"""The Bloom filter that the frontier was measured against has the rates of SEEDS B7."""

import pytest

from benchmarks.frontier.costs import Bloom, best_hashes, false_positives

RATES = {1: 0.632, 2: 0.3996, 4: 0.1469, 8: 0.02158, 16: 4.656e-4, 32: 2.117e-7, 64: 4e-14}


@pytest.mark.parametrize(("bits", "rate"), RATES.items())
def test_false_positives_by_bits_an_item_with_the_best_number_of_hashes(bits, rate):
    assert false_positives(bits, best_hashes(bits)) == pytest.approx(
        rate, rel=0.11 if bits == 64 else 5e-4
    )


@pytest.mark.parametrize("bits", [1, 2, 4, 8, 16])
def test_a_full_filter_has_these_rates_and_forgets_nothing(bits):
    items, others = 4_000, 8_000 if bits < 16 else 60_000
    bloom = Bloom(items, bits)
    for number in range(items):
        bloom.add(f"http://a.test/{number}")

    assert all(f"http://a.test/{number}" in bloom for number in range(items))
    wrong = sum(f"http://b.test/{number}" in bloom for number in range(others))
    expected = RATES[bits] * others
    assert abs(wrong - expected) < 5 * expected**0.5 + 0.02 * expected
