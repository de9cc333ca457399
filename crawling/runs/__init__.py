"""The life of a run: its grants, shifts, pauses, losses and end."""
