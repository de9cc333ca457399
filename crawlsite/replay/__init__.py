"""ReplayWeb.page, which shows archived pages: how it is installed, and the server that has it on an
origin of its own.
"""
