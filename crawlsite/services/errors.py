"""What can keep the embedded servers from starting."""


class StartError(Exception):
    """The servers cannot start; the message says why and what to do."""


class StopRequested(Exception):
    """A signal asked this program to end."""
