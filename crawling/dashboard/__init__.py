"""Pages, JSON and commands, by which people and programs see and steer crawls. Each folder is a
screen.
"""
