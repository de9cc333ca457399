"""ReplayWeb.page, which shows archived pages: its installation, and the server that offers it on
separate origins.
"""
