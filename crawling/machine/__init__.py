"""What a work process has of its machine, and shows of itself: cores, memory, signs of life. And
programs of other projects that are installed there.
"""
