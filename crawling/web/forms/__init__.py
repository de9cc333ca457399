"""Forms of HTML documents: their controls, what they send, and the form to log in with."""
