// The grammar of a typed number, as in scaling_lib/exercises/grammar.py; answer_cases.json there binds both.
// A doubtful spelling is asked about, never guessed.
(() => {
  "use strict";
  const LONGEST = 100;
  const SPACES = /[\u00a0\u2007\u2009\u202f\t]/g;
  const RAISED = "⁺⁻⁰¹²³⁴⁵⁶⁷⁸⁹";
  const COMPARED = /^(?:[A-Za-z]\s*=|(?:[A-Za-z]\s*)?(?:[<>]=?|[≤≥]))\s*/;
  const INFINITE = /^[+-]?(?:inf|infinity|∞)$/i;
  const FORMULA = /[-+*/^×·(]\s*[(.0-9]|[0-9)]\s*[-+*/^×·(]/;
  // Letters whose case matters: milli and mega, bits and bytes, the amount FLOPs and the rate FLOPS.
  const doubtful = (name) => (name.match(/m|b(?!yte|it)|(?<=op)s$/gi) || []).join("");
  const TYPED = /^(\$\s*)?([+-]?)\s*((?:[0-9]|\.(?=[0-9]))(?:[0-9.,_' ]*[0-9.])?)(.*)$/s;
  const EXPONENT = /^[eE]([+-]?[0-9]+)/;
  const TIMES_POWER = /^\s*[×x*·]\s*(10|2)\s*(?:\^|\*\*)\s*([+-]?[0-9]+)/;
  const POWER = /^\s*(?:\^|\*\*)\s*([+-]?[0-9]+)/;
  const OVER = /^\s*\/\s*([0-9]+(?:\.[0-9]+)?)/;
  const PLAIN = /^(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+|(?:0|[1-9][0-9]*)(?:_[0-9]+)+(?:\.[0-9]*)?)$/;
  const GROUPED = /^[1-9][0-9]{0,2}(?:,[0-9]{3})+(?:\.[0-9]*)?$/;
  const DECIMAL_COMMA = /^[0-9]+,[0-9]+$/;
  const OTHER_GROUPS = /^[0-9]{1,3}(?:(?: [0-9]{3})+|(?:'[0-9]{3})+|(?:\.[0-9]{3})+)(?:[.,][0-9]+)?$/;
  const ONE_GROUP = /^[1-9][0-9]{0,2}[.,][0-9]{3}$/;
  const has = (table, name) => Object.prototype.hasOwnProperty.call(table, name);

  // Returns one of {value}, {ask: another spelling}, {error: "empty" | "number" | "formula" | "infinite" | "unit" | "zero" | "large"}.
  // `units` maps each name that may be typed to its factor to the exercise's unit.
  function parseAnswer(text, units, expected) {
    if (text.length > LONGEST) return { error: "number" };
    const clean = tidy(text);
    if (!clean) return { error: "empty" };
    const compared = COMPARED.exec(clean);
    if (compared) {
      const number = clean.slice(compared[0].length);
      const again = parseAnswer(number, units);
      return again.error ? again : { ask: again.ask || number };
    }
    if (INFINITE.test(clean)) return { error: "infinite" };
    const typed = TYPED.exec(clean);
    if (!typed) return { error: !/^[+-]/.test(clean) && FORMULA.test(clean) ? "formula" : "number" };
    const [, dollar, sign, numeral, tail] = typed;
    const respelled = respell(numeral);
    if (respelled) {
      const again = parseAnswer(sign + respelled + tail + (dollar ? " $" : ""), units);
      return again.error ? again : { ask: again.ask || (dollar || "") + sign + respelled + tail };
    }
    if (!PLAIN.test(numeral) && !GROUPED.test(numeral)) return { error: "number" };
    const scaled = scale(Number(numeral.replace(/[,_]/g, "")), tail);
    if (scaled.error) return { error: scaled.error };
    const name = dollar && !scaled.rest ? "$" : scaled.rest;
    const number = clean.slice(0, clean.length - scaled.rest.length).replace(/^\$/, "").trim();
    const reading = inUnit(sign === "-" ? -scaled.value : scaled.value, name, units, number);
    if (reading.value !== undefined && expected !== undefined && ONE_GROUP.test(numeral)) {
      return otherMark(reading, expected, numeral, clean);
    }
    return reading;
  }

  function tidy(text) {
    return text
      .replace(SPACES, " ").replace(/[−–]/g, "-").replace(/’/g, "'")
      .replace(new RegExp(`[${RAISED}]+`, "g"), (run) => "^" + [...run].map((c) => "+-0123456789"[RAISED.indexOf(c)]).join(""))
      .trim().replace(/^(?:≈|~|=|about )\s*/, "");
  }

  function respell(numeral) {
    if (PLAIN.test(numeral) || GROUPED.test(numeral)) return "";
    if (DECIMAL_COMMA.test(numeral)) return numeral.replace(",", ".");
    if (!OTHER_GROUPS.test(numeral)) return "";
    const tail = /[ ',]/.test(numeral) ? /[.,]([0-9]+)$/.exec(numeral) : null;
    const whole = tail ? numeral.slice(0, tail.index) : numeral;
    return whole.replace(/[^0-9]/g, "") + (tail ? "." + tail[1] : "");
  }

  function scale(value, rest) {
    let m;
    if ((m = EXPONENT.exec(rest))) value *= 10 ** m[1];
    else if ((m = TIMES_POWER.exec(rest))) value *= Number(m[1]) ** m[2];
    else if ((m = POWER.exec(rest))) {
      if (value === 0 && Number(m[1]) < 0) return { error: "zero" };
      value **= Number(m[1]);
    }
    if (m) rest = rest.slice(m[0].length);
    if ((m = OVER.exec(rest))) {
      if (Number(m[1]) === 0) return { error: "zero" };
      value /= Number(m[1]);
      rest = rest.slice(m[0].length);
    }
    return Number.isFinite(value) ? { value, rest } : { error: "large" };
  }

  function inUnit(value, typed, units, number) {
    const name = typed.trim().replace(/\s*(?:\/|\bper\b)\s*/g, "/").replace(/\s+/g, " ");
    if (!name) return { value };
    if (has(units, name)) {
      const scaled = value * units[name];
      return Number.isFinite(scaled) ? { value: scaled } : { error: "large" };
    }
    let alike = Object.keys(units).filter((n) => n.toLowerCase() === name.toLowerCase());
    const same = alike.find((n) => doubtful(n) === doubtful(name));
    if (same) return inUnit(value, same, units, number);
    if (!alike.length && has(units, name + "/s")) alike = [name + "/s"];
    return new Set(alike.map((n) => units[n])).size === 1 ? { ask: `${number} ${alike[0]}` } : { error: FORMULA.test(typed) ? "formula" : "unit" };
  }

  // `2.189` where 2,189 would be right (or the reverse) is asked about.
  function otherMark(reading, expected, numeral, clean) {
    const other = numeral.includes(".") ? reading.value * 1000 : reading.value / 1000;
    if (Math.abs(other - expected) > 0.05 * Math.abs(expected)) return reading;
    const swapped = numeral.replace(/[.,]/g, (mark) => (mark === "." ? "," : "."));
    return { ask: clean.replace(numeral, swapped) };
  }

  window.slParseAnswer = parseAnswer;
})();
