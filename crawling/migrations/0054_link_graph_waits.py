from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0053_latest_mirrors"),
    ]

    operations = [
        migrations.AddField(
            model_name="linkgraph",
            name="waits",
            field=models.TextField(
                blank=True,
                db_default="",
                help_text="why no job is at it; empty: one is, or none is known",
            ),
        ),
        migrations.AlterField(
            model_name="linkgraph",
            name="attempts",
            field=models.SmallIntegerField(db_default=0, help_text="to do the step that is next"),
        ),
        migrations.AlterField(
            model_name="linkgraph",
            name="began_at",
            field=models.DateTimeField(null=True, help_text="since when its pages are read"),
        ),
    ]
