import django.db.models.deletion
from django.conf import settings
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0045_what_is_to_be_done"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        migrations.CreateModel(
            name="Inquiry",
            fields=[
                (
                    "id",
                    models.BigAutoField(
                        auto_created=True,
                        primary_key=True,
                        serialize=False,
                        verbose_name="ID",
                    ),
                ),
                (
                    "kind",
                    models.CharField(
                        choices=[
                            ("test_fetch", "test fetch"),
                            ("text_diff", "text comparison"),
                        ],
                        max_length=20,
                    ),
                ),
                (
                    "key",
                    models.CharField(
                        blank=True,
                        help_text="the same for the same question",
                        max_length=64,
                    ),
                ),
                ("sealed", models.TextField(help_text="the question: an order may have secrets")),
                ("asked_at", models.DateTimeField(auto_now_add=True)),
                ("began_at", models.DateTimeField(null=True)),
                ("ended_at", models.DateTimeField(null=True)),
                ("answer", models.JSONField(null=True)),
                ("trouble", models.TextField(blank=True, help_text="why there is no answer")),
                (
                    "by",
                    models.ForeignKey(
                        null=True,
                        on_delete=django.db.models.deletion.CASCADE,
                        related_name="+",
                        to=settings.AUTH_USER_MODEL,
                    ),
                ),
            ],
            options={
                "verbose_name_plural": "inquiries",
                "indexes": [models.Index(fields=["key"], name="inquiries_by_key")],
            },
        ),
    ]
