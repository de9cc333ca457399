"""`make run`: the whole product on this machine, started in order, watched, and stopped
completely.
"""
