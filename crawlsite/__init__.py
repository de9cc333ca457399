"""The Django project: settings, addresses, the embedded servers and the supervisor."""
