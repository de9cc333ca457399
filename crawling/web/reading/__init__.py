"""HTML documents of usual size are read by a process beside the work process, on a core that is
free.
"""
