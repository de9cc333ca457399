"""The DNS cache: names are resolved before they are needed, and answers are kept as the patent
describes (SEEDS D).
"""
