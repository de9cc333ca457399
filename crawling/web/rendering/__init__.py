"""Pages whose links and texts are there only after their scripts have run: a browser renders them,
in a program beside the work process, and reaches the network through the caller alone.
"""
