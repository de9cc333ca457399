"""A region of a picture that a watch ignores is drawn on it."""

from __future__ import annotations

from playwright.sync_api import Page, expect

#: the form of a watch as far as the script knows it
FORM = """
<textarea id="ignored_regions"></textarea><span id="draws" hidden></span>
<div id="regions" class="regions"><img draggable="false"></div>
"""
#: shown at half its size
PICTURE = """
const canvas = document.createElement("canvas"), picture = document.querySelector("#regions img");
[canvas.width, canvas.height] = [1280, 800];
picture.parentElement.style.width = "640px";
picture.style.borderWidth = 0;
picture.src = canvas.toDataURL();
"""


def test_a_rectangle_that_is_drawn_becomes_a_line(operator: Page):
    operator.goto("/crawls/")
    operator.evaluate("html => { document.querySelector('main').innerHTML = html }", FORM)
    operator.evaluate(PICTURE)
    operator.add_script_tag(url="/static/regions.js")
    picture = operator.locator("#regions img")
    expect(operator.locator("#draws")).to_have_js_property("hidden", value=False)
    operator.wait_for_function("document.querySelector('#regions img').naturalWidth == 1280")
    box = picture.bounding_box()
    assert box

    def drag(*places: int) -> None:
        operator.mouse.move(box["x"] + places[0], box["y"] + places[1])
        operator.mouse.down()
        operator.mouse.move(box["x"] + places[2], box["y"] + places[3])
        operator.mouse.up()

    field = operator.locator("#ignored_regions")
    drag(10, 20, 110, 70)
    expect(field).to_have_value("20 40 200 100")
    drag(300, 200, 250, 150)
    expect(field).to_have_value("20 40 200 100\n500 300 100 100")
    expect(operator.locator("#regions span")).to_have_count(2)
    drag(5, 5, 5, 5)
    expect(operator.locator("#regions span")).to_have_count(2)
    field.fill("0 0 1280 80")
    expect(operator.locator("#regions span")).to_have_count(1)
