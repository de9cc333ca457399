"""The ways to install: each runs the processes of the Procfile, and its files are valid."""
