"""The middleware that every request passes on its way."""
