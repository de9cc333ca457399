"""The Django project: settings, routes, the embedded servers and the supervisor."""
