"""The work process and its machine: cores, memory, signs of life. And programs of other projects
that are installed there.
"""
