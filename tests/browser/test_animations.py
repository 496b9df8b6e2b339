"""Animations play, pause, step by hand, keep still for those who want no motion, and stand in print."""

import pytest
from patience import HELD_AT_S, WAIT_MS

from scaling_lib import plotting
from scaling_lib.plotting import animations

# A later observer of the film is told of it after the film's own, which decides there whether to play.
SEEN = """() => new Promise((seen) => new IntersectionObserver(seen).observe(document.querySelector('.sl-animation')))
  .then(() => null)"""


@pytest.fixture(params=animations.ANIMATIONS)
def film(request):
    return getattr(plotting, request.param)(**({"blocks": 3} if "stream" in request.param else {}))


@pytest.fixture
def show(browser, film):
    """Opens a page that holds the animation alone, with the media asked for and a clock that only the test moves."""
    contexts = []

    def opened(**media):
        context = browser.new_context(viewport={"width": 360, "height": 800}, **media)
        context.set_default_timeout(WAIT_MS)
        contexts.append(context)
        page = context.new_page()
        page.clock.install(time=0)
        page.clock.pause_at(HELD_AT_S)
        page.set_content(f'<!doctype html><html lang="en"><body>{film._repr_html_()}</body></html>')
        if media.get("java_script_enabled", True):
            page.evaluate(SEEN)
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
    page.clock.run_for(round((1500 if before < len(film.shots) - 1 else 3500) * film.seconds))
    return shown(page) != before


def test_it_plays_from_the_beginning_and_pauses(show, film):
    page = show()
    assert shown(page) == 0
    assert moves(page, film)
    page.get_by_role("button", name="Pause").click()
    assert not moves(page, film) and page.get_by_role("button", name="Play").is_visible()
    page.get_by_role("button", name="Play").click()
    assert moves(page, film)


def test_each_shot_stays_its_time_and_the_last_three_times_as_long(show, film):
    page = show()
    for shot, beats in [*((i, 1) for i in range(len(film.shots) - 1)), (len(film.shots) - 1, 3)]:
        page.clock.run_for(round(1000 * beats * film.seconds) - 1)
        assert shown(page) == shot
        page.clock.run_for(1)
        assert shown(page) == (shot + 1) % len(film.shots)


def test_it_keeps_still_for_those_who_want_no_motion(show, film):
    page = show(reduced_motion="reduce")
    assert not moves(page, film) and shown(page) == film.still
    page.get_by_role("button", name="Play").click()
    assert moves(page, film)


def test_it_stops_when_the_wish_comes_later(show, film):
    page = show()
    assert moves(page, film)
    page.emulate_media(reduced_motion="reduce")
    page.get_by_role("button", name="Play").wait_for()  # the page hears of it a moment later
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
