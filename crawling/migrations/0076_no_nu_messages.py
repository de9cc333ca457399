from django.db import migrations


class Migration(migrations.Migration):
    dependencies = [
        ("crawling", "0075_withdrawn_imports"),
    ]

    operations = [
        migrations.RemoveIndex(model_name="linkspart", name="links_parts_unread_by_nu"),
        migrations.RemoveIndex(model_name="linkspart", name="links_parts_cancelled"),
        migrations.RemoveField(model_name="linkspart", name="nu_asked_at"),
        migrations.RemoveField(model_name="linkspart", name="nu_read_at"),
        migrations.RemoveField(model_name="linkspart", name="cancelled_at"),
        migrations.RemoveField(model_name="linkspart", name="cancelled_by"),
    ]
