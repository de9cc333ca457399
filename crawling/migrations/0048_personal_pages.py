from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0047_hosts_of_a_domain"),
    ]

    operations = [
        migrations.AddField(
            model_name="page",
            name="is_personal",
            field=models.BooleanField(
                db_default=False,
                help_text="asked for by headers, cookies, a login or a proxy: for its crawl alone",
            ),
        ),
    ]
