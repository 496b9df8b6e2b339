"""Moving pictures that need no server, no library and, to show what matters, no script.

An `Animation` is one SVG whose shots lie on top of each other; without a script the still shot shows. A few lines of
script play them, with a pause button and a slider to step by hand. They start by themselves only where the reader has
not asked for reduced motion, from the first shot, and only while the figure is on the screen. In print and without a
script the still shot stands, with what it shows.
"""

import html
from dataclasses import dataclass

from scaling_lib.plotting import style

STYLE = """<style>
.sl-animation { margin: 1em 0; max-width: 36rem; }
.sl-animation figcaption { overflow-wrap: anywhere; }
.sl-animation svg { display: block; width: 100%; height: auto; }
.sl-animation .sl-title { font-weight: 600; text-align: left; margin: 0 0 0.4em; }
.sl-animation .sl-shot { display: none; }
.sl-animation .sl-shot.sl-on { display: inline; }
.sl-animation .sl-film { display: flex; align-items: center; gap: 0.75em; margin: 0.25em 0; }
.sl-animation .sl-film[hidden] { display: none; }
.sl-animation button { font: inherit; color: inherit; background: transparent; min-height: 44px; min-width: 5em;
  border: 1px solid currentColor; border-radius: 0.25em; cursor: pointer; }
.sl-animation input { flex: 1; min-width: 6em; min-height: 44px; margin: 0; accent-color: HBM; touch-action: none; }
.sl-animation :is(button, input):focus-visible { outline: 2px solid HBM; outline-offset: 2px; }
.sl-animation .sl-shot-says { min-height: 3em; margin: 0; font-variant-numeric: tabular-nums; }
@media print {
  .sl-animation .sl-film, .sl-animation .sl-shot-says { display: none; }
  .sl-animation .sl-still-says { display: block !important; }
  .sl-animation .sl-shot { display: none !important; }
  .sl-animation .sl-shot.sl-still { display: inline !important; }
}
</style>""".replace("HBM", style.COLORS["hbm"])

SCRIPT = """<script>
(() => {
  for (const film of document.querySelectorAll("figure.sl-animation:not([data-started])")) {
    film.dataset.started = "";
    const shots = [...film.querySelectorAll(".sl-shot")], bar = film.querySelector(".sl-film");
    const button = bar.querySelector("button"), slider = bar.querySelector("input");
    const says = film.querySelector(".sl-shot-says"), calm = matchMedia("(prefers-reduced-motion: reduce)");
    let at = Number(film.dataset.still), timer = 0, wanted = !calm.matches;
    const show = (i) => {
      shots[at].classList.remove("sl-on");
      at = i;
      shots[at].classList.add("sl-on");
      slider.value = at;
      slider.setAttribute("aria-valuetext", shots[at].dataset.says);
      says.textContent = shots[at].dataset.says;
    };
    const stop = () => { clearTimeout(timer); timer = 0; button.textContent = "Play"; };
    const beat = () => {  // the last shot stays three times as long as the others
      const beats = at === shots.length - 1 ? 3 : 1;
      timer = setTimeout(() => { show((at + 1) % shots.length); beat(); }, 1000 * beats * Number(film.dataset.seconds));
    };
    const play = () => { clearTimeout(timer); beat(); button.textContent = "Pause"; };
    button.addEventListener("click", () => { wanted = !timer; (timer ? stop : play)(); });
    slider.addEventListener("input", () => { wanted = false; stop(); show(Number(slider.value)); });
    bar.addEventListener("keydown", (event) => event.stopPropagation());
    calm.addEventListener("change", () => { if (calm.matches) { wanted = false; stop(); } });
    bar.hidden = false;
    film.querySelector(".sl-still-says").style.display = "none";
    show(at);
    stop();
    let begun = false;
    new IntersectionObserver(([seen]) => {
      if (!seen.isIntersecting) return stop();
      if (!wanted || timer) return;
      if (!begun) show(0);
      begun = true;
      play();
    }).observe(film);
  }
})();
</script>"""


@dataclass(frozen=True)
class Shot:
    """One moment: SVG that lies over the scene, and what it shows in a sentence."""

    svg: str
    says: str


@dataclass(frozen=True)
class Animation:
    """A film of shots over a fixed scene, the sentence that says what it shows, and the numbers drawn.

    Attributes:
      made_by: the function that made it.
      title: the message, as a sentence.
      sentence: what it shows, with its numbers.
      width, height: of the SVG's own coordinates.
      scene: SVG under every shot.
      shots: in order.
      still: the shot that stands alone where nothing moves.
      columns: the data, for the table.
      key: what colours and signs mean.
      seconds: how long a shot stays.
    """

    made_by: str
    title: str
    sentence: str
    width: int
    height: int
    scene: str
    shots: tuple[Shot, ...]
    still: int
    columns: dict
    seconds: float = 0.8
    key: str = ""

    def describe(self):
        """One sentence with the film's numbers, made from the drawn data."""
        return self.sentence

    def svg(self, shot=None):
        """One shot over the scene as an SVG of its own; the still one unless told otherwise."""
        moment = self.shots[self.still if shot is None else shot]
        return f'<svg xmlns="http://www.w3.org/2000/svg" {self._box()}>{self.scene}{moment.svg}</svg>'

    def _box(self):
        return f'viewBox="0 0 {self.width} {self.height}"'

    def _repr_html_(self):
        shots = "".join(
            f'<g class="sl-shot{" sl-on sl-still" * (i == self.still)}" data-says="{html.escape(s.says)}">{s.svg}</g>'
            for i, s in enumerate(self.shots)
        )
        said, last = html.escape(self.sentence), len(self.shots) - 1
        return (
            f'{STYLE}<figure class="sl-figure sl-animation" data-still="{self.still}" data-seconds="{self.seconds}">'
            f'<p class="sl-title">{html.escape(self.title)}</p>'
            f'<svg {self._box()} role="img" aria-label="{said}">{self.scene}{shots}</svg>'
            f'<div class="sl-film" hidden><button type="button">Play</button>'
            f'<input type="range" min="0" max="{last}" value="{self.still}" step="1" aria-label="Step"></div>'
            f'<p class="sl-shot-says" translate="no"></p>'
            f'<p class="sl-still-says" translate="no">{html.escape(self.shots[self.still].says)}</p>'
            f"<figcaption>{' '.join(filter(None, (said, html.escape(self.key))))} "
            f"Made by <code>{self.made_by}</code></figcaption>"
            f'<details class="sl-data"><summary>table</summary>{style.table(self.columns)}</details></figure>{SCRIPT}'
        )

    def __repr__(self):
        return f"Animation: {self.sentence}"


def text(x, y, words, kind="", **more):
    """An SVG text; `kind` is a class of the scene's style."""
    return f'<text x="{x:g}" y="{y:g}"{_attributes(kind, more)}>{html.escape(str(words))}</text>'


def box(x, y, width, height, kind="", **more):
    """An SVG rectangle."""
    return f'<rect x="{x:g}" y="{y:g}" width="{width:g}" height="{height:g}"{_attributes(kind, more)}/>'


def line(x1, y1, x2, y2, kind="", **more):
    """An SVG line."""
    return f'<line x1="{x1:g}" y1="{y1:g}" x2="{x2:g}" y2="{y2:g}"{_attributes(kind, more)}/>'


def _attributes(kind, more):
    named = {"class": kind, **{name.replace("_", "-"): value for name, value in more.items()}}
    return "".join(f' {name}="{value}"' for name, value in named.items() if value != "")
