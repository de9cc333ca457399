"""The forms of an order, with a module for each section."""
