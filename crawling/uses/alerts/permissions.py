"""Listeners are for administrators."""

ADMINISTER = ("alerts.view_listener", "alerts.change_listener", "alerts.delete_listener")
