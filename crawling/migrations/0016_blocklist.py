"""The black list, by the name of blocklist: its table, its permissions, and the rule in verdicts."""

from django.db import migrations, models

VERDICTS = "UPDATE crawling_{table} SET rule = '{new}' WHERE rule = '{old}'"


def rename_permissions(old, new):
    def rename(apps, schema_editor):
        permissions = apps.get_model("auth", "Permission").objects
        for one in permissions.filter(
            content_type__app_label="crawling", codename__endswith=f"_{old}"
        ):
            one.codename = one.codename.replace(old, new)
            one.name = f"Can {one.codename.partition('_')[0]} {new[:-5]} entry"
            one.save()

    return rename


def rename_rule(table):
    return migrations.RunSQL(
        VERDICTS.format(table=table, old="black_list", new="blocklist"),
        VERDICTS.format(table=table, old="blocklist", new="black_list"),
    )


class Migration(migrations.Migration):
    dependencies = [
        ("auth", "0012_alter_user_first_name_max_length"),
        ("crawling", "0015_share_links"),
    ]

    operations = [
        migrations.RemoveConstraint("blacklistentry", "the_black_list_holds_an_entry_once"),
        migrations.RenameModel("BlackListEntry", "BlocklistEntry"),
        migrations.AddConstraint(
            "blocklistentry",
            models.UniqueConstraint(
                fields=["kind", "text"],
                condition=models.Q(("removed_at", None)),
                name="the_blocklist_holds_an_entry_once",
            ),
        ),
        migrations.RunPython(
            rename_permissions("blacklistentry", "blocklistentry"),
            rename_permissions("blocklistentry", "blacklistentry"),
        ),
        rename_rule("verdict"),
        rename_rule("verdictcount"),
    ]
