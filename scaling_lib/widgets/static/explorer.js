/* Explorers: sliders that answer in a static page, and in a notebook whose kernel computes.
 *
 * A figure (scaling_lib/widgets/page.py) carries its controls and, as JSON, everything the library computed over
 * their stops. There is no formula here: `evaluate` looks tables up, adds (or stacks), and takes the greatest or least.
 * In a live notebook `evaluate` is not used: Python sends the values. Everything after it is the same code.
 *
 *   state   {control: stop}          values  {name: number | text | null | Infinity}
 *   drawn   {data set: rows}         figure.slState  what is on show, for tests: state, values, drawn, sentence
 */
(function (root) {
  "use strict";
  if (root.slExplorers) {                      // a second explorer of the page brought the script again
    root.slExplorers.startAll();
    return;
  }
  const REST_MS = 250;                         // a slider that lay still this long has come to rest
  const TIE = 1e-6;                            // as in explorer.py
  const NUDGE = 1 + 1e-7;                      // as in words.py
  const NOTHING = 1e-27;                       // as in words.py
  const PREFIXES = ["f", "p", "n", "µ", "m", "", "k", "M", "G", "T", "P", "E"];
  const CONTROLS = "select, input[type=range]";

  /* ---- words: the rules of words.py and of units.si, to the digit ---- */

  function grouped(x, decimals) {
    let [whole, part = ""] = Math.abs(x).toFixed(decimals).split(".");
    whole = whole.replace(/\B(?=(\d{3})+$)/g, ",");
    part = part.replace(/0+$/, "");
    return (x < 0 ? "-" : "") + whole + (part ? "." + part : "");
  }

  function digitsAfter(x, digits) {
    return Math.max(digits - 1 - Math.floor(Math.log10(Math.abs(x)) + 1e-12), 0);
  }

  function significant(x, digits) {
    return x === 0 ? "0" : grouped(x, digitsAfter(x, digits));
  }

  function si(x, unit) {
    if (x === 0) return "0 " + unit;
    const rounded = x.toExponential(2), exponent = Number(rounded.split("e")[1]);
    const step = Math.min(Math.max(Math.floor(exponent / 3), -5), 6);
    const decimals = Math.max(2 - exponent + 3 * step, 0);
    return grouped(Number(rounded) / Math.pow(1000, step), decimals) + " " + PREFIXES[step + 5] + unit;
  }

  function written(x, form) {
    if (x === null) return "–";
    if (typeof x === "string" || !form) return String(x);
    if (!Number.isFinite(x)) return "∞";
    if (form === ",") return grouped(Math.floor(x * NUDGE + 0.5), 0);
    if (form === "%") return significant(100 * x * NUDGE, 3) + "%";
    if (/^\d+$/.test(form)) return significant(x * NUDGE, Number(form));
    return si(Math.abs(x) < NOTHING ? 0 : x * NUDGE, form);
  }

  function fill(template, values) {
    return template.replace(/\{(\w+)(?::([^{}]+))?\}/g, (_, name, form) => written(values[name], form));
  }

  /* ---- values of a state, from the tables ---- */

  function decoded(entry) {
    return entry === "inf" ? Infinity : entry;
  }

  /* A table is a list of runs, its entries along the last name; runs and entries are kept once, under numbers. */
  function lookUp(data, table, stops, known) {
    let index = 0, length = 1;
    for (const name of table.over) {
      length = stops[name].length;
      index = index * length + stops[name].indexOf(known[name]);
    }
    const run = data.runs[table.runs[Math.floor(index / length)]];
    return decoded(data.entries[run[index % length]]);
  }

  function combined(readout, raw) {
    const terms = readout.of.map((name) => raw[name.replace("-", "")]);
    if (terms.some((term) => term === null)) return null;
    if (readout.how === "add") return terms.reduce((sum, t, i) => sum + (readout.of[i][0] === "-" ? -t : t), 0);
    if (readout.how === "least") return Math.min(...terms);
    const greatest = Math.max(...terms);
    if (readout.how === "stack") {             // the sum of quantities, of which log10 tables hold the logarithms
      if (!readout.log10) return terms.reduce((sum, t) => sum + t, 0);
      return Number.isFinite(greatest) ? greatest + Math.log10(terms.reduce((sum, t) => sum + 10 ** (t - greatest), 0)) : greatest;
    }
    if (readout.how === "greatest") return greatest;
    const near = readout.log10 ? TIE : TIE * Math.abs(greatest);
    const first = terms.findIndex((term) => term >= greatest - near);
    return readout.gives.length ? raw[readout.gives[first]] : readout.of[first];
  }

  function evaluate(data, state) {
    const stops = { ...data.stops }, known = { ...state }, raw = {}, values = {};
    for (const c of data.controls) {
      stops[c.name] = c.stops;
      values[c.name] = c.labels.length ? c.labels[c.stops.indexOf(state[c.name])] : state[c.name];
    }
    for (const made of [...data.tables, ...data.readouts]) {
      const value = made.over ? lookUp(data, made, stops, known) : combined(made, raw);
      raw[made.name] = known[made.name] = value;
      values[made.name] = made.log10 && typeof value === "number" ? Math.pow(10, value) : value;
    }
    return values;
  }

  /* ---- what is said and drawn of values ---- */

  function kindOf(value) {
    if (typeof value === "string") return value;
    return value === null ? "none" : Number.isFinite(value) ? "some" : "never";
  }

  function sayOf(data, values) {
    return data.says.find((s) => Object.keys(s.when).every((name) => kindOf(values[name]) === s.when[name]));
  }

  function sentenceOf(data, values) {
    return fill(sayOf(data, values).text, values);
  }

  /* A state of which the sentence can only say that something is not there. */
  function isVoid(data, state) {
    return Object.values(sayOf(data, evaluate(data, state)).when).includes("none");
  }

  function needs(made) {
    return made.includes("{") ? [...made.matchAll(/\{(\w+)/g)].map((match) => match[1]) : [made];
  }

  function drawnOf(data, values) {
    const rowOf = (row) => Object.fromEntries(Object.entries(row).map(([key, made]) =>
      [key, made.includes("{") ? fill(made, values) : values[made]]));
    const exists = (row) => Object.values(row).every((made) => needs(made).every((name) => values[name] !== null));
    return Object.fromEntries(Object.entries(data.drawn).map(([name, rows]) => [name, rows.filter(exists).map(rowOf)]));
  }

  /* ---- a figure on the page ---- */

  function stateOf(data, figure) {
    return Object.fromEntries(data.controls.map((c) => {
      const input = figure.querySelector(`[name="${c.name}"]`);
      return [c.name, input.type === "range" ? c.stops[Number(input.value)] : input.value];
    }));
  }

  function setControls(data, figure, state) {
    for (const c of data.controls) {
      if (!(c.name in state)) continue;
      const input = figure.querySelector(`[name="${c.name}"]`);
      input.value = input.type === "range" ? c.stops.indexOf(state[c.name]) : state[c.name];
    }
  }

  /* The first menu leads; what the others offer in vain beside it is greyed. */
  function greyOptions(data, figure, state) {
    if (!data.says.some((say) => Object.values(say.when).includes("none"))) return;
    for (const menu of [...figure.querySelectorAll("select")].slice(1)) {
      for (const option of menu.options) option.disabled = isVoid(data, { ...state, [menu.name]: option.value });
    }
  }

  function showReadings(figure, state) {
    for (const input of figure.querySelectorAll("input[type=range]")) {
      const text = written(state[input.name], ",");
      input.setAttribute("aria-valuetext", text);
      input.parentNode.querySelector(".sl-value").textContent = text;
    }
  }

  /* The chart takes the place of the still picture, and follows the width of its box. */
  function chartIn(box, spec) {
    const still = [...box.childNodes];
    const holder = document.createElement("div");
    holder.setAttribute("aria-hidden", "true");          // the box is the image, with the sentence as its text
    box.append(holder);
    const view = new root.vega.View(root.vega.parse(spec), { renderer: "svg", container: holder, hover: false });
    view.initialize();
    const fit = () => {
      const width = box.clientWidth - spec.padding.left - spec.padding.right;
      if (width > 0 && width !== view.width()) view.width(width).run();
    };
    fit();
    new ResizeObserver(fit).observe(box);
    still.forEach((node) => node.remove());
    return view;
  }

  /* Brings a figure to life. `ask(state)`, if given, has a kernel answer through the returned `show(values, state)`. */
  function start(figure, ask) {
    const data = JSON.parse(figure.querySelector("script[type='application/json']").textContent);
    const view = chartIn(figure.querySelector(".sl-chart"), data.chart);
    const live = figure.querySelector(".sl-say");
    let rest = 0;

    function show(values, state, sentence = sentenceOf(data, values)) {
      const drawn = drawnOf(data, values);
      for (const name of Object.keys(drawn)) view.data(name, drawn[name]);
      view.run();
      figure.slState = { state, values, drawn, sentence };
      clearTimeout(rest);
      rest = setTimeout(say, REST_MS);
    }

    /* Words wait until the slider rests: a screen reader would otherwise read every step of the way. */
    function say() {
      const { values, sentence } = figure.slState;
      if (live.textContent !== sentence) live.textContent = sentence;
      figure.querySelector(".sl-chart").setAttribute("aria-label", sentence);
      figure.querySelectorAll(".sl-data td").forEach((cell, i) => { cell.textContent = fill(data.rows[i][1], values); });
    }

    function update() {
      const state = stateOf(data, figure);
      showReadings(figure, state);
      if (ask) return ask(state);
      greyOptions(data, figure, state);
      show(evaluate(data, state), state);
    }

    setControls(data, figure, data.state);     // browsers keep a form's old values across a reload
    const controls = figure.querySelector(".sl-controls");
    controls.addEventListener("input", update);
    controls.addEventListener("keydown", (event) => event.stopPropagation());   // JupyterLab's shortcuts
    controls.hidden = false;
    figure.slView = view;
    figure.slSet = (state) => { setControls(data, figure, state); update(); };
    if (!ask) update();
    return show;
  }

  function startAll() {
    if (!root.vega) return;                    // then the still picture, the sentence and the table stay
    for (const figure of document.querySelectorAll("figure.sl-explorer")) {
      if (figure.slState || figure.closest(".sl-live")) continue;
      figure.slState = {};
      start(figure);
    }
  }

  /* anywidget's entry: the same figure, with Python in the place of the tables. */
  function render({ model, el }) {
    el.classList.add("sl-live");
    el.innerHTML = model.get("markup");
    const figure = el.querySelector("figure");
    const show = start(figure, (state) => {
      model.set("state", state);
      model.save_changes();
    });
    const answer = () => {
      const { state, values, sentence, runs } = model.get("drawn");
      show(Object.fromEntries(Object.entries(values).map(([name, value]) => [name, decoded(value)])), state, sentence);
      figure.slState.runs = runs;
    };
    model.on("change:drawn", answer);
    answer();
    return () => { model.off("change:drawn", answer); figure.slView.finalize(); };
  }

  root.slExplorers = { startAll, render, evaluate, fill };
  if (document.readyState === "loading") document.addEventListener("DOMContentLoaded", startAll);
  else startAll();
})(globalThis);
