"""Forms of HTML documents: their controls, the data that they send, and the login form."""
