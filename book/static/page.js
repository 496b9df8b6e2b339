// Small things of every page: Show the sums, wide content that scrolls in its own box, the reader's place.
(() => {
  "use strict";
  const store = {
    read(key) { try { return localStorage.getItem(`scaling-book:${key}`); } catch { return null; } },
    write(key, value) { try { localStorage.setItem(`scaling-book:${key}`, value); } catch { /* forgets */ } },
  };

  // --- Show the sums: every checked number can be pointed at or focused, and shows the expression behind it.
  function setUpSums() {
    const sums = [...document.querySelectorAll(".sl-sum")];
    const row = document.querySelector(".sl-tools");
    if (!sums.length || !row) return;
    const tip = Object.assign(document.createElement("div"), { id: "sl-tip", className: "sl-tip", hidden: true });
    tip.setAttribute("role", "tooltip");
    tip.setAttribute("translate", "no");
    document.body.append(tip);
    const toggle = Object.assign(document.createElement("button"), { type: "button", className: "sl-sums-switch", textContent: "Show the sums" });
    toggle.title = "Every number of the text that code has checked: point at or tap one to see the expression";
    const hint = Object.assign(document.createElement("span"), { className: "sl-sums-hint", textContent: "Point at or tap a dotted number." });
    row.append(toggle, hint);

    let shown = null;
    const place = () => {
      if (!shown) return;
      const box = shown.getClientRects()[0];
      const left = Math.min(box.left, document.documentElement.clientWidth - tip.offsetWidth - 8);
      const below = box.bottom + 6 + tip.offsetHeight < window.innerHeight;
      tip.style.left = `${Math.max(8, left)}px`;
      tip.style.top = `${below ? box.bottom + 6 : box.top - tip.offsetHeight - 6}px`;
    };
    const show = (sum) => {
      shown = sum;
      tip.textContent = sum.dataset.sum ? `= ${sum.dataset.sum}` : "a premise: given, not computed";
      tip.hidden = false;
      place();
    };
    const hide = () => {
      shown = null;
      tip.hidden = true;
    };
    const on = () => document.body.classList.contains("sl-sums");

    const pointed = (event) => on() && event.target.closest(".sl-sum");
    for (const kind of ["mouseover", "focusin"]) {
      document.addEventListener(kind, (event) => { const sum = pointed(event); if (sum) show(sum); });
    }
    for (const kind of ["mouseout", "focusout"]) {
      document.addEventListener(kind, (event) => { if (pointed(event)) hide(); });
    }
    document.addEventListener("keydown", (event) => { if (event.key === "Escape") hide(); });
    document.addEventListener("scroll", place, { passive: true });

    const set = (state) => {
      document.body.classList.toggle("sl-sums", state);
      toggle.setAttribute("aria-pressed", String(state));
      hint.hidden = !state;
      for (const sum of sums) {
        if (state) { sum.tabIndex = 0; sum.setAttribute("role", "note"); sum.setAttribute("aria-describedby", "sl-tip"); }
        else for (const name of ["tabindex", "role", "aria-describedby"]) sum.removeAttribute(name);
      }
      if (!state) hide();
    };
    toggle.addEventListener("click", () => { set(!on()); store.write("sums", on() ? "1" : "0"); });
    set(store.read("sums") === "1");
  }

  // --- A box that scrolls sideways must be reachable by keyboard, and shows at which side more is hidden.
  function setUpScrollers() {
    const wide = document.querySelectorAll(
      ".bd-article :is(div.highlight > pre, .cell_output, .cell_output pre, div.math, mjx-container, .pst-scrollable-table-container, .sl-scroll)");
    const fade = (node) => {
      node.classList.toggle("sl-more-left", node.scrollLeft > 1);
      node.classList.toggle("sl-more-right", node.scrollLeft + node.clientWidth < node.scrollWidth - 1);
    };
    const refresh = () => {
      for (const node of wide) {
        const scrolls = node.scrollWidth > node.clientWidth + 1 && /auto|scroll/.test(getComputedStyle(node).overflowX);
        if (scrolls) node.tabIndex = 0;
        else node.removeAttribute("tabindex");
        if (scrolls && node.clientWidth) fade(node);
        else node.classList.remove("sl-more-left", "sl-more-right");
      }
    };
    for (const node of wide) node.addEventListener("scroll", () => fade(node), { passive: true });
    document.addEventListener("toggle", refresh, true);  // what was folded has a width now
    refresh();
    window.addEventListener("load", () => Promise.resolve(window.MathJax?.startup?.promise).then(refresh));
    window.addEventListener("resize", refresh);
  }

  // --- Print is light, with the answers that the text keeps folded spelled out.
  function setUpPrint() {
    const root = document.documentElement;
    let before = null;
    const start = () => {
      if (before) return;
      const folded = [...document.querySelectorAll(".bd-article details:not([class]):not([open])")]
        .filter((details) => !details.closest(".sl-answer"));
      before = { theme: root.dataset.theme, folded };
      root.dataset.theme = "light";
      for (const details of folded) details.open = true;
    };
    const end = () => {
      if (!before) return;
      root.dataset.theme = before.theme;
      for (const details of before.folded) details.open = false;
      before = null;
    };
    window.addEventListener("beforeprint", start);
    window.addEventListener("afterprint", end);
    matchMedia("print").addEventListener("change", (event) => (event.matches ? start() : end()));
  }

  // --- The reader's place: a long page offers to go on where one stopped.
  function setUpPlace() {
    const headings = [...document.querySelectorAll(".bd-article section[id] > h2")];
    const row = document.querySelector(".sl-tools");
    if (headings.length < 3 || !row) return;
    const key = `place:${location.pathname.split("/").slice(-2).join("/")}`;
    const known = headings.find((h) => h.parentElement.id === store.read(key));
    if (known && !location.hash && known !== headings[0]) {
      const link = Object.assign(document.createElement("a"), { href: `#${known.parentElement.id}`, className: "sl-place" });
      link.textContent = `Go on at “${known.firstChild.textContent.trim()}”`;
      row.append(link);
    }
    let waiting = null;
    document.addEventListener("scroll", () => {
      clearTimeout(waiting);
      waiting = setTimeout(() => {
        const passed = headings.filter((h) => h.getBoundingClientRect().top < window.innerHeight / 2);
        if (passed.length) store.write(key, passed[passed.length - 1].parentElement.id);
      }, 500);
    }, { passive: true });
  }

  // --- The theme's sidebar has toggles without a name.
  function nameToggles() {
    for (const summary of document.querySelectorAll(".bd-sidebar-primary details > summary:not([aria-label])")) {
      const link = summary.closest("li").querySelector("a");
      summary.setAttribute("aria-label", `Pages of ${link ? link.textContent.trim() : "this part"}`);
    }
  }

  // --- The search's excerpts are cut from a page's text, in which formulas are TeX: the short ones are legible, the
  // others are left out.
  function tidyExcerpts() {
    if (typeof Search === "undefined" || !Search.htmlToText) return;
    const toText = Search.htmlToText;
    Search.htmlToText = (text, anchor) => {
      const page = new DOMParser().parseFromString(text, "text/html");
      for (const node of page.querySelectorAll(".sl-answer, .sl-printed-answers, .sl-tools, .sl-data, .onlyprint, .headerlink")) node.remove();
      for (const node of page.querySelectorAll(".math")) {
        const tex = node.textContent.replace(/^\s*\\[([]|\\[)\]]\s*$/g, "");
        node.textContent = /[\\{}&]/.test(tex) ? "…" : tex.replaceAll("^*", "*");
      }
      return toText(page.documentElement.outerHTML, anchor);
    };
  }

  setUpSums();
  tidyExcerpts();
  nameToggles();
  setUpScrollers();
  setUpPlace();
  setUpPrint();
})();
