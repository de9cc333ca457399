"""A run's life: its grants, shifts, pauses, losses and end."""
