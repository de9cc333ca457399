"""The middleware that every request passes."""
