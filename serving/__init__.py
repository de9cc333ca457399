"""The code that views and endpoints of every package share: who may call them, what a field asks
for, lists by pages, rows as files, and live pages.
"""
