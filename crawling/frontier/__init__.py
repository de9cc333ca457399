"""The frontier in PostgreSQL: the only reader and writer of what waits to be fetched.

Every transaction here locks the run's row first, then hosts, then URLs; so two processes of a run
never deadlock, and limits on the whole run hold exactly. A shift's id is the token in each WHERE:
what a lost shift still sends finds nothing.
"""
