"""Resolving ahead of need (SEEDS D1, D2), and serving requests that wait in the best order (D11,
D12).

`plan.py` and `requests.py` are pure.
"""
