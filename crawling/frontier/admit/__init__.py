"""New URLs on their way into a run's frontier."""
