import django.contrib.postgres.fields
import django.contrib.postgres.indexes
import django.db.models.deletion
import django.db.models.functions.text
from django.conf import settings
from django.contrib.postgres.operations import TrigramExtension
from django.db import migrations, models

#: PostgreSQL cannot know that joining texts is the same for ever, which an index needs to be told
SEARCHED = """
CREATE FUNCTION crawling_searched(name text, seeds text[]) RETURNS text LANGUAGE sql IMMUTABLE PARALLEL SAFE
AS $$ SELECT upper(name || E'\\n' || array_to_string(seeds, E'\\n')) $$
"""
EARLIER_RUNS = """
UPDATE crawling_run r SET is_latest = false
WHERE EXISTS (SELECT FROM crawling_run later WHERE later.crawl_id = r.crawl_id AND later.number > r.number)
"""


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0018_names_of_hosts"),
        migrations.swappable_dependency(settings.AUTH_USER_MODEL),
    ]

    operations = [
        TrigramExtension(),
        migrations.RunSQL(SEARCHED, "DROP FUNCTION crawling_searched(text, text[])"),
        migrations.CreateModel(
            name="SavedView",
            fields=[
                ("id", models.BigAutoField(auto_created=True, primary_key=True, serialize=False, verbose_name="ID")),
                ("name", models.CharField(max_length=40)),
                ("query", models.CharField(help_text="as it stands in the list's address", max_length=1000)),
            ],
            options={
                "ordering": ["name"],
            },
        ),
        migrations.AddField(
            model_name="crawljob",
            name="tags",
            field=django.contrib.postgres.fields.ArrayField(
                base_field=models.CharField(max_length=30),
                blank=True,
                default=list,
                help_text="words to find it by, in order of the alphabet",
                size=None,
            ),
        ),
        migrations.AddField(
            model_name="run",
            name="is_latest",
            field=models.BooleanField(default=True, help_text="of its crawl: the one that lists show"),
        ),
        migrations.RunSQL(EARLIER_RUNS, migrations.RunSQL.noop),
        migrations.AddIndex(
            model_name="crawljob",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.indexes.OpClass(
                    models.Func(models.F("name"), models.F("seeds"), function="crawling_searched", output_field=models.TextField()),
                    name="gin_trgm_ops",
                ),
                name="crawls_by_words",
            ),
        ),
        migrations.AddIndex(
            model_name="crawljob",
            index=django.contrib.postgres.indexes.GinIndex(fields=["tags"], name="crawls_by_tag"),
        ),
        migrations.AddIndex(
            model_name="page",
            index=django.contrib.postgres.indexes.GinIndex(
                django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper("final_url"), name="gin_trgm_ops"),
                django.contrib.postgres.indexes.OpClass(django.db.models.functions.text.Upper("title"), name="gin_trgm_ops"),
                name="pages_by_words",
            ),
        ),
        migrations.AddIndex(
            model_name="run",
            index=models.Index(condition=models.Q(("is_latest", True)), fields=["state", "crawl"], name="latest_runs_by_state"),
        ),
        migrations.AddIndex(
            model_name="runcount",
            index=models.Index(fields=["minute"], name="counts_by_minute"),
        ),
        migrations.AddConstraint(
            model_name="run",
            constraint=models.UniqueConstraint(
                condition=models.Q(("is_latest", True)), fields=("crawl",), name="a_crawl_has_one_latest_run"
            ),
        ),
        migrations.AddField(
            model_name="savedview",
            name="user",
            field=models.ForeignKey(
                db_index=False, on_delete=django.db.models.deletion.CASCADE, related_name="saved_views", to=settings.AUTH_USER_MODEL
            ),
        ),
        migrations.AddConstraint(
            model_name="savedview",
            constraint=models.UniqueConstraint(fields=("user", "name"), name="views_of_a_user_differ_by_name"),
        ),
    ]
