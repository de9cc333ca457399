"""The DNS cache: names are resolved before they are needed, and kept as the patent says (SEEDS
D).
"""
