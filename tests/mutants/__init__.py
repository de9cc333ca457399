"""Faults planted in the shipped code, to see that the tests find them: a test of the tests."""
