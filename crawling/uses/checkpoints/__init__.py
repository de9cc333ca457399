"""Checkpoints: a run's whole state in a directory, from which any server can continue the run, any
number of times (SEEDS W13).
"""
