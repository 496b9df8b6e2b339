"""Animations play, pause, step by hand, keep still for those who want no motion, and stand in print."""

import pytest

from scaling_lib import plotting
from scaling_lib.plotting import animations


@pytest.fixture(params=animations.ANIMATIONS)
def film(request):
    return getattr(plotting, request.param)(**({"blocks": 3} if "stream" in request.param else {}))


@pytest.fixture
def show(browser, film):
    """Opens a page that holds the animation alone, with the media asked for."""
    contexts = []

    def opened(**media):
        context = browser.new_context(viewport={"width": 360, "height": 800}, **media)
        contexts.append(context)
        page = context.new_page()
        page.set_content(f'<!doctype html><html lang="en"><body>{film._repr_html_()}</body></html>')
        return page

    yield opened
    for context in contexts:
        context.close()


def shown(page):
    """Number of the shot on show; there is one, and no more."""
    at = page.evaluate(
        "[...document.querySelectorAll('.sl-shot')].flatMap((s, i) => getComputedStyle(s).display == 'none' ? [] : [i])"
    )
    assert len(at) == 1
    return at[0]


def moves(page, film):
    before = shown(page)
    page.wait_for_timeout((2500 if before < len(film.shots) - 1 else 3500) * film.seconds)
    return shown(page) != before


def test_it_plays_from_the_beginning_and_pauses(show, film):
    page = show()
    page.wait_for_timeout(300)
    assert shown(page) == 0
    assert moves(page, film)
    page.get_by_role("button", name="Pause").click()
    assert not moves(page, film) and page.get_by_role("button", name="Play").is_visible()
    page.get_by_role("button", name="Play").click()
    assert moves(page, film)


def test_it_keeps_still_for_those_who_want_no_motion(show, film):
    page = show(reduced_motion="reduce")
    assert not moves(page, film) and shown(page) == film.still
    page.get_by_role("button", name="Play").click()
    assert moves(page, film)


def test_it_stops_when_the_wish_comes_later(show, film):
    page = show()
    assert moves(page, film)
    page.emulate_media(reduced_motion="reduce")
    assert not moves(page, film)


def test_the_keyboard_steps_and_the_step_is_said(show, film):
    page = show(reduced_motion="reduce")
    slider = page.get_by_role("slider", name="Step")
    slider.focus()
    page.keyboard.press("ArrowRight")
    assert shown(page) == film.still + 1
    assert slider.get_attribute("aria-valuetext") == film.shots[film.still + 1].says
    assert page.locator(".sl-shot-says").inner_text() == film.shots[film.still + 1].says


def test_print_and_pages_without_scripts_show_the_still_shot(show, film):
    page = show(reduced_motion="reduce")
    page.get_by_role("slider", name="Step").fill("0")
    page.emulate_media(media="print")
    assert shown(page) == film.still and not page.get_by_role("button").is_visible()
    assert page.get_by_text(film.shots[film.still].says, exact=True).is_visible()
    bare = show(java_script_enabled=False)
    assert not bare.locator(".sl-film").is_visible() and bare.locator(".sl-shot.sl-on.sl-still").count() == 1


def test_it_fits_a_phone(show):
    page = show()
    assert page.evaluate("document.documentElement.scrollWidth") <= 360
    for control in ("button", "input"):
        assert page.locator(f".sl-film {control}").bounding_box()["height"] >= 44
