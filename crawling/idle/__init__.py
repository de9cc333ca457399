"""Work on stored pages that is done while no other process needs the units for it."""
