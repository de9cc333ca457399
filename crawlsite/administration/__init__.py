"""Administration within the product: identity, access, users and roles, activity."""
