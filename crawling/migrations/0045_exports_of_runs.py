import django.db.models.deletion
from django.db import migrations, models


class Migration(migrations.Migration):
    dependencies = [("crawling", "0044_archive_imports")]

    operations = [
        migrations.RemoveConstraint(model_name="waczfile", name="wacz_named_as_ours"),
        migrations.RemoveConstraint(model_name="waczfile", name="wacz_asked_once"),
        migrations.RenameModel(old_name="WaczFile", new_name="RunExport"),
        migrations.AlterField(
            model_name="runexport",
            name="run",
            field=models.ForeignKey(
                null=True,
                on_delete=django.db.models.deletion.SET_NULL,
                related_name="exports",
                to="crawling.run",
            ),
        ),
        migrations.AddField(
            model_name="runexport",
            name="kind",
            field=models.CharField(
                choices=[("wacz", "WACZ file"), ("mirror", "mirror")],
                default="wacz",
                max_length=10,
            ),
            preserve_default=False,
        ),
        migrations.AddField(
            model_name="runexport",
            name="began_at",
            field=models.DateTimeField(help_text="when a job began to write it", null=True),
        ),
        migrations.AlterField(
            model_name="runexport",
            name="name",
            field=models.CharField(help_text="of what is stored", max_length=80, unique=True),
        ),
        migrations.AlterField(
            model_name="runexport",
            name="layout",
            field=models.JSONField(
                default=dict,
                help_text="of which files its bytes are: `crawling.uses.exports.layout.Layout`",
            ),
        ),
        migrations.AddConstraint(
            model_name="runexport",
            constraint=models.CheckConstraint(
                condition=models.Q(
                    ("name__regex", "^(wacz|mirror)[0-9]{1,19}/[0-9a-f]{32}[.](wacz-rest|zip)$")
                ),
                name="exports_named_as_ours",
            ),
        ),
        migrations.AddConstraint(
            model_name="runexport",
            constraint=models.UniqueConstraint(
                condition=models.Q(("trouble", ""), ("written_at", None)),
                fields=("run", "kind"),
                name="exports_asked_once",
            ),
        ),
    ]
