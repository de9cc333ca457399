"""Invented states for what-if questions.

Pure: no access to the pool's tables, and nothing is stored.
"""
