"""The routes of administration pages."""

from django.urls import path

from crawlsite.administration import access_views, activity, team_views, user_views

app_name = "administration"
urlpatterns = [
    path("identity/", access_views.identity_page, name="identity"),
    path("access/", access_views.access_page, name="access"),
    path("access/<str:kind>/<int:pk>/remove/", access_views.remove_access, name="access-remove"),
    path("users/", user_views.users_page, name="users"),
    path("users/<int:pk>/", user_views.change_user, name="user"),
    path("teams/", team_views.teams_page, name="teams"),
    path("teams/rule/", team_views.change_team_rule, name="team-rule"),
    path("teams/<int:pk>/", team_views.team_page, name="team"),
    path("tokens/", user_views.all_tokens_page, name="tokens"),
    path("activity/", activity.activity, name="activity"),
    path("activity.csv", activity.activity_file, name="activity-file"),
]
