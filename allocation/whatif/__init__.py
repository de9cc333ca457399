"""Invented states for what-if questions.

Pure: has no access to the pool's tables, and stores nothing.
"""
