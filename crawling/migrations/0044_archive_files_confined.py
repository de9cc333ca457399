from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0043_ends_of_runs"),
    ]

    operations = [
        migrations.AddConstraint(
            model_name="archivefile",
            constraint=models.CheckConstraint(
                condition=models.Q(("name__regex", "^run[0-9]{1,19}-[A-Za-z0-9._-]+[.]warc[.]gz$")),
                name="archive_files_named_as_ours",
            ),
        ),
        migrations.AddConstraint(
            model_name="archivefile",
            constraint=models.CheckConstraint(
                condition=models.Q(("committed_length__range", (0, 1099511627776))),
                name="archive_files_of_a_length",
            ),
        ),
    ]
