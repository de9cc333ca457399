"""The standards of the web on content: types, encodings, and fields of heads."""
