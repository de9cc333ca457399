"""The web's standards for content: types, encodings, and header fields."""
