"""Help inside the product: the guide, the glossary and other pages of `docs/`."""
