"""What views and endpoints of every package share: who may call them, lists by pages, rows as
files, and live pages.
"""
