"""The forms of an order, one module a section."""
