"""Faults planted in the product's code, to see that the tests find them: a test of the tests."""
