"""Files made from runs for other programs. Users request them, a job writes them, and pages send
them.
"""
