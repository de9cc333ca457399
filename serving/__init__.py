"""What views and endpoints of every package share: who may call them, rows as files, and live
pages.
"""
