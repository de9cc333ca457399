"""Administration inside the product: identity, access, users and roles, activity."""
