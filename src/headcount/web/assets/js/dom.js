// Elements without markup in strings: what a user typed is always text.

const SVG = "http://www.w3.org/2000/svg";
const SVG_TAGS = new Set(["svg", "path", "line", "rect", "circle", "text", "g", "title", "polyline"]);

/** h("p", {class: "lead", onclick: f}, "text", child, …); null and false children are left out. */
export function h(tag, attributes = {}, ...children) {
  const made = SVG_TAGS.has(tag) && !(tag === "title" && attributes.html)
    ? document.createElementNS(SVG, tag) : document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "style") Object.assign(made.style, value);
    else if (name === "value" || name === "checked") made[name] = value;
    else made.setAttribute(name, value === true ? "" : value);
  }
  made.append(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return made;
}

export function replace(element, ...children) {
  element.replaceChildren(...children.flat(Infinity).filter((c) => c !== null && c !== undefined && c !== false));
  return element;
}

/** Three digits, whole numbers in full; a dash for none. The report writes numbers the same way. */
export function number(value, digits = 3) {
  if (value === null || value === undefined) return "–";
  if (typeof value !== "number") return String(value);
  if (value === 0) return "0";
  const size = Math.abs(value);
  if (Number.isInteger(value) && size < 1e7) return String(value); // counts are never rounded
  if (size >= 1e5 || size < 1e-3) return value.toExponential(digits - 1).replace(/\.?0*e\+?/, "e");
  return String(Number(value.toPrecision(digits)));
}

/** A time in words: "81 ms", "2.4 s". */
export const duration = (ms) => ms < 1000 ? `${Math.max(1, Math.round(ms))} ms` : `${number(ms / 1000, ms < 9950 ? 2 : 3)} s`;

/** The number that a field or an address holds; where it is none, one line says what was expected. */
export function wanted(text, name, { whole = false, least = null, above = null, most = null, none } = {}) {
  const typed = String(text).trim(), value = Number(typed);
  if (typed === "" && none !== undefined) return none;
  const good = typed !== "" && Number.isFinite(value) && (!whole || Number.isInteger(value))
    && (least === null || value >= least) && (above === null || value > above) && (most === null || value <= most);
  if (good) return value;
  const range = [least === null ? null : `at least ${least}`, above === null ? null : `above ${above}`, most === null ? null : `at most ${most}`].filter(Boolean).join(" and ");
  throw new Error(`${name} “${typed.slice(0, 40)}”: expected a ${whole ? "whole " : ""}number${range ? ` of ${range}`.replace("of above", "above") : ""}${none === undefined ? "" : ", or nothing"}.`);
}

/** The first letter large. */
export const capital = (text) => text ? text[0].toUpperCase() + text.slice(1) : text;

let serial = 0;
export const fresh = (stem) => `${stem}-${++serial}`;

/** A labelled field. */
export function field(label, control, hint) {
  const id = control.id || (control.id = fresh("field"));
  return h("div", { class: "field" }, h("label", { for: id }, label), control,
    hint ? h("p", { class: "hint" }, hint) : null);
}

/** One of a few, as radio buttons that look like chips. */
export function chips(legend, options, chosen, onchange) {
  const name = fresh("chips");
  return h("fieldset", { class: "field" }, h("legend", {}, legend),
    h("div", { class: "chips" }, options.map(([value, text]) => h("label", {},
      h("input", { type: "radio", name, value, checked: value === chosen,
        onchange: () => onchange(value) }), h("span", {}, text)))));
}

export function select(options, chosen, onchange) {
  const made = h("select", { onchange: () => onchange(made.value) },
    options.map(([value, text]) => h("option", { value }, text)));
  made.value = chosen;
  return made;
}

const whole = new Set(); // captions of tables that were asked for in full

/** A table with a head; cells are text, numbers or elements. Beyond `most` rows a button asks for the rest. */
export function table(columns, rows, options = {}) {
  const { most = Infinity, caption = "" } = options;
  if (rows.length <= most || whole.has(caption)) return full(columns, rows, options);
  const held = h("div", {}, full(columns, rows.slice(0, most), options),
    h("button", { type: "button", class: "quiet", onclick: () => { whole.add(caption); replace(held, full(columns, rows, options)); } }, `Show all ${rows.length} rows`));
  return held;
}

const LONG = 60; // characters: on a phone such a cell has a line of its own
const BRIEF = 15; // where name and longest cell of a column have no more, two of them share a line there

function full(columns, rows, { cards = false, best = () => false, caption = "" } = {}) { // cards: one per row on a phone, and never cut
  const numeric = columns.map((_, i) => rows.some((r) => typeof r[i] === "number"));
  const length = (cell) => cell instanceof Node ? cell.textContent.length : typeof cell === "number" ? number(cell).length : String(cell ?? "–").length;
  const short = columns.map((c, i) => rows.every((r) => String(c).length + length(r[i]) <= BRIEF && !(r[i] instanceof HTMLInputElement)));
  const brief = columns.map(() => false); // two neighbours share a line, never one alone
  for (let i = 1; i < columns.length; i++) if (short[i] && short[i - 1] && !brief[i - 1]) brief[i - 1] = brief[i] = true;
  const kind = (cell, i) => [numeric[i] ? "num" : null, brief[i] ? "brief" : null, typeof cell === "string" && cell.length > LONG ? "long" : null].filter(Boolean).join(" ") || null;
  const made = h("table", cards ? { class: "cards" } : {},
    caption ? h("caption", {}, caption) : null,
    h("thead", {}, h("tr", {}, columns.map((c, i) => c === "" ? h("td", {}) : h("th", { scope: "col", class: numeric[i] ? "num" : null }, c)))),
    h("tbody", {}, rows.map((row, k) => h("tr", { class: best(k) ? "best" : null }, row.map((cell, i) =>
      h("td", { class: kind(cell, i), "data-label": typeof columns[i] === "string" ? columns[i] : "" },
        cell instanceof Node ? cell : typeof cell === "number" ? number(cell) : String(cell ?? "–")))))));
  return h("div", { class: cards ? "scroll whole" : "scroll", tabindex: "0", role: "region", "aria-label": caption || "table" }, made);
}

const TERMS = {
  promised: "What the paper's theorem guarantees, with its constants worked out. Often far above what is possible.",
  possible: "The best weights we can construct, measured in exact-enough arithmetic, beside a proved lower bound.",
  representable: "The same weights after rounding to a float format: huge cancelling coefficients lose their meaning.",
  learned: "What gradient descent finds, over several seeds. It takes training: see the command below.",
  head: "One attention head. With a positional bias alone it draws one curve over lags.",
  lag: "How many steps back: lag 0 is the current token.",
  certificate: "A lower bound with evidence that an independent checker accepts.",
  budget: "The largest allowed sum of |coefficients|. Large coefficients cancel and are lost in low precision.",
  kernel: "How much of each earlier token the memory keeps, lag by lag.",
  "dp-free": "Attention without dot products: where a head looks depends on the lag alone, never on the tokens.",
  "stream": "The numbers that every position carries from layer to layer; heads and neurons read from it and add to it.",
  "l1": "The sum of |kernel − sum of heads| over all lags: the largest error of the answer on tokens between −1 and 1.",
  "front": "Models that no other beats in size and in error at once.",
};

/** Offer bytes as a file. */
export function save(blob, name) {
  const link = h("a", { href: URL.createObjectURL(blob), download: name });
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 5000);
}

/** A term with its meaning as a tooltip, also for the keyboard. */
export function term(word, key = word) {
  return h("abbr", { class: "tip", title: TERMS[key], tabindex: "0" }, word);
}
