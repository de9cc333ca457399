"""Terms of the glossary where pages use them."""

from __future__ import annotations

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString
from django.utils.text import slugify

from crawlsite.help import GLOSSARY, glossary_terms

register = template.Library()


@register.simple_tag
def term(name: str, words: str = "") -> SafeString:
    """The term, or other words for it, with its explanation on hover and a link to the glossary.

    Raises KeyError for a term that the glossary does not explain.
    """
    address = f"{reverse('help-document', args=[GLOSSARY])}#{slugify(name)}"
    return format_html(
        '<a class="term" href="{}" title="{}">{}</a>',
        address,
        glossary_terms()[name],
        words or name,
    )
