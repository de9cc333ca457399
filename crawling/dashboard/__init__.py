"""Pages, JSON and commands: what people and programs see and press. A folder is a screen."""
