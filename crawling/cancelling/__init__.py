"""Users cancel what they have asked background jobs for."""
