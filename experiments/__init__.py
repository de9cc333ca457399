"""The experiment of SEEDS P4 and P5: the same requests, with and without the Banker's algorithm,
made by real threads that fetch real pages.
"""
