// Answer and guess boxes. The box's markup and all its words come from Python (book/answer_boxes.py and the
// exercise's spec); this script reads what was typed, compares it, and says which mistake was made.
(() => {
  "use strict";
  const ERRORS = {
    empty: "Type an answer first.",
    number: "That is not a number I can read. Write 240, 2.4e2, 1/2 or 3.2 ms.",
    formula: "I can't calculate: type the result.",
    infinite: "The answer here is finite.",
    unit: "I don't know that unit here.",
    zero: "That divides by zero.",
    large: "That number is too large.",
  };

  // Private windows and strict settings forbid storage: the boxes then work, and forget.
  const store = {
    read(key) {
      try { return JSON.parse(localStorage.getItem(`scaling-book:${key}`)) || {}; } catch { return {}; }
    },
    write(key, value) {
      try { localStorage.setItem(`scaling-book:${key}`, JSON.stringify(value)); } catch { /* forgets */ }
    },
    clear(key) {
      try { localStorage.removeItem(`scaling-book:${key}`); } catch { /* nothing kept */ }
    },
  };

  const close = (a, b, rtol) => Number.isFinite(a) && Math.abs(a - b) <= rtol * Math.abs(b);

  // -> {status: "right" | "wrong", says}
  function judge(spec, answer) {
    const same = (known) => (typeof known === "number" ? close(answer, known, spec.rtol) : plain(answer) === plain(known));
    if (same(spec.value) || (spec.accepts || []).some(same)) return { status: "right", says: "" };
    const whole = spec.whole && Number.isInteger(answer) && Math.abs(answer - spec.value) < 1;
    if (whole) return { status: "right", says: "" };
    const mistake = (spec.mistakes || []).find((m) => same(m.value));
    if (mistake) return { status: "wrong", says: mistake.says };
    const ratio = typeof spec.value === "number" && (spec.ratios || []).find((r) => close(answer / spec.value, r.ratio, r.rtol));
    if (ratio) return { status: "wrong", says: ratio.says };
    const told = spec.kind === "sharding" && spec.notation.told.find((t) => new RegExp(t.pattern).test(plain(answer)));
    if (told) return { status: "wrong", says: told.says };
    return { status: "wrong", says: "" };
  }

  // A sharding's text without spaces, quotes and needless braces, and with plain signs, as plain_sharding in Python
  // makes it; sharding_cases.json there binds both.
  const plain = (text) => String(text)
    .replace(/_?[\u2090-\u209c\u1d62-\u1d6a\u2c7c]+/g, (run) => "_" + run.replace("_", "").normalize("NFKC").toUpperCase().replace(/Γ/g, "Y"))
    .normalize("NFKC").replace(/\s+/g, "").replace(/^["'`“”‘’]+|["'`“”‘’]+$/g, "")
    .replace(/[·@×]/g, "*").replace(/→/g, "->")
    .replace(/(?<=_)\{([^}]*)\}/g, (braced, inner) => {
      const names = inner.split(",");
      return names.every((name) => name.length === 1) || /^[A-Z]+$/.test(inner) ? names.join("") : braced;
    });

  // What was typed, read: {answer} or {ask} or {error}.
  function read(spec, text) {
    if (!text.trim()) return { error: "empty" };
    if (spec.kind === "sharding" && !new RegExp(spec.notation.pattern).test(plain(text))) return { error: "notation" };
    if (spec.kind !== "number") return { answer: text.trim() };
    const reading = window.slParseAnswer(text, spec.units || {}, spec.value);
    return reading.value === undefined ? reading : { answer: reading.value };
  }

  class Box {
    constructor(root) {
      this.root = root;
      this.spec = JSON.parse(root.querySelector("script[type='application/json']").textContent);
      this.guess = root.classList.contains("sl-is-guess");
      this.form = root.querySelector("form");
      this.said = root.querySelector(".sl-said");
      this.ask = root.querySelector(".sl-ask");
      this.solution = root.querySelector(".sl-solution");
      this.memory = store.read(this.spec.key);
      this.solution.hidden = true;
      this.form.addEventListener("submit", (event) => { event.preventDefault(); this.submit(); });
      this.stageHints();
      if (this.memory.text) this.recall();
    }

    get text() {
      const chosen = this.form.querySelector("input[type='radio']:checked");
      const typed = this.form.querySelector("input[type='text']");
      return typed ? typed.value : chosen ? chosen.value : "";
    }

    set text(value) {
      const typed = this.form.querySelector("input[type='text']");
      if (typed) typed.value = value;
      for (const radio of this.form.querySelectorAll("input[type='radio']")) radio.checked = radio.value === value;
    }

    submit() {
      const text = this.text;
      const reading = read(this.spec, text);
      this.ask.hidden = true;
      if (reading.error) return this.say("unread", this.complaint(reading.error));
      if (reading.ask) return this.doubt(reading.ask);
      const verdict = judge(this.spec, reading.answer);
      this.memory = { text, status: verdict.status, tries: (this.memory.tries || 0) + 1 };
      store.write(this.spec.key, this.memory);
      this.show(verdict);
      if (this.guess) this.solution.open = true;
    }

    complaint(error) {
      if (error === "empty" && this.spec.kind === "choice") return "Choose one first.";
      if (error === "notation") return this.spec.notation.unread;
      if (error !== "unit") return ERRORS[error];
      return `${ERRORS.unit} The answer is in ${this.spec.unit || "plain numbers"}.`;
    }

    show({ status, says }) {
      if (this.guess) this.say(status, `${status === "right" ? "Good guess." : "Not quite."} ${says}`);
      else if (status === "right") this.say(status, "Right.");
      else this.say(status, `Not yet. ${says || `No known mistake gives this; ${this.help}.`}`);
      this.solution.hidden = false;
      this.offerReset();
    }

    get help() {
      return this.spec.hints.length ? "a hint may help" : "read the worked example above once more";
    }

    say(status, text) {
      this.root.dataset.status = status;
      this.said.textContent = text.trim();
    }

    // "Did you mean …?" Nothing is counted until the reader says so.
    doubt(suggestion) {
      this.say("unread", `Did you mean ${suggestion}? Nothing is counted yet.`);
      const yes = button(`Yes, ${suggestion}`, () => { this.text = suggestion; this.submit(); });
      const no = button("No, let me change it", () => {
        this.ask.hidden = true;
        this.say("", "");
        this.form.querySelector("input").focus();
      });
      this.ask.replaceChildren(yes, no);
      this.ask.hidden = false;
      yes.focus();
    }

    recall() {
      this.text = this.memory.text;
      const reading = read(this.spec, this.memory.text);
      if (reading.answer === undefined) return;
      this.show(judge(this.spec, reading.answer));
    }

    offerReset() {
      if (this.reset) return;
      this.reset = button("Start again", () => {
        store.clear(this.spec.key);
        this.memory = {};
        this.text = "";
        this.say("", "");
        this.solution.hidden = true;
        this.solution.open = false;
        this.reset.remove();
        this.reset = null;
        this.form.querySelector("input").focus();
      });
      this.reset.classList.add("sl-quiet");
      this.form.querySelector(".sl-controls").append(this.reset);
    }

    // Each hint is offered once the one before it was opened.
    stageHints() {
      const hints = [...this.root.querySelectorAll(".sl-hint")];
      hints.forEach((hint, i) => {
        setCode(hint.querySelector("p"));
        hint.hidden = i > 0;
        hint.addEventListener("toggle", () => { if (hint.open && hints[i + 1]) hints[i + 1].hidden = false; });
      });
    }
  }

  // What stands between backticks is code.
  function setCode(paragraph) {
    const parts = paragraph.textContent.split("`").map((text, i) => {
      return i % 2 ? Object.assign(document.createElement("code"), { textContent: text, translate: false }) : text;
    });
    paragraph.replaceChildren(...parts);
  }

  function button(text, onClick) {
    const node = Object.assign(document.createElement("button"), { type: "button", textContent: text, className: "sl-button" });
    node.addEventListener("click", onClick);
    return node;
  }

  window.slRead = read;
  window.slJudge = judge;
  for (const root of document.querySelectorAll(".sl-answer")) new Box(root);
})();
