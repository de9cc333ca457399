"""How much pages and links are about a topic."""

import pytest

from crawling.web.topics import USUAL_WORDS, Topic, expected_similarity

BREAD = "Sourdough bread rises slowly. "


def test_a_page_counts_by_the_words_that_it_has_of_the_topic():
    topic = Topic(["sourdough bread"])

    similar = [topic.of_text(text, "en") for text in (BREAD * 20, BREAD, "White bread.", "Trains.")]

    assert similar == sorted(similar, reverse=True)
    assert similar[0] <= 1.0
    assert similar[-2] > similar[-1] == 0.0


def test_endings_are_those_of_the_language_that_the_page_states():
    topic = Topic(["Häuser"])

    assert topic.of_text("Ein Haus steht dort.", "de-AT") > 0.0
    assert topic.of_text("Ein Haus steht dort.", "en") == 0.0


def test_signs_of_scripts_without_blanks_are_words():
    assert Topic(["東京"]).of_text("東京タワーは高い", "ja") > 0.0


def test_words_that_say_nothing_are_no_topic_unless_there_are_no_others():
    example = Topic([f"The house of the baker and of the miller. {BREAD}"])

    assert example.of_text("The state of the art and the rest of it.", "en") == 0.0
    assert Topic(["the who"]).of_text("The Who played.", "en") > 0.0


def test_a_long_page_with_a_word_of_the_topic_counts_less_than_a_short_one():
    topic = Topic(["sourdough"])

    assert topic.of_text(BREAD, "en") > topic.of_text(f"{BREAD} {'rye ' * USUAL_WORDS}", "en") > 0


def test_each_line_of_a_topic_counts_the_same_however_long_it_is():
    topic = Topic(["trains", BREAD * 50])

    assert topic.of_text("trains", "en") == pytest.approx(
        sum(topic.of_text(word, "en") for word in ("sourdough", "bread", "rises", "slowly")),
        rel=0.01,
    )


@pytest.mark.parametrize(
    ("anchor", "path"), [("Sourdough bread", "1.html"), ("here", "sourdough_bread.html")]
)
def test_a_link_counts_by_its_text_or_its_address(anchor, path):
    topic = Topic(["sourdough bread"])

    about = topic.of_link(anchor, f"http://a.test/{path}", "en")

    assert 1.0 >= about > topic.of_link("bread prices of 1870", "http://a.test/2", "en") > 0.0
    assert topic.of_link("here", "http://bread.test/2", "en") == 0.0


def test_a_topic_without_words_is_like_nothing():
    assert Topic(["?!"]).of_text(BREAD, "en") == Topic([]).of_link("a", "http://a.test/b", "") == 0


def test_half_of_what_is_expected_comes_from_the_page_and_fades_behind_unlike_pages():
    assert expected_similarity(page=0.8, foreseen=0.0, own=0.4) == pytest.approx(0.6)
    assert expected_similarity(page=0.0, foreseen=0.8, own=0.0) == pytest.approx(0.2)
