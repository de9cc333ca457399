"""What the standards of the web say of content: types, encodings, and fields of heads."""
