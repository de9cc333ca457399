"""Resolving names before they are needed (SEEDS D1, D2), and serving waiting requests in the best
order (D11, D12).

`plan.py` and `requests.py` are pure.
"""
