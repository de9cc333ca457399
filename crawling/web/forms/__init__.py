"""Forms of HTML documents: their controls, their data when sent, and the log-in form."""
