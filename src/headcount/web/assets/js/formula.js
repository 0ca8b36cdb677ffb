// The registry's plain formulas, set as formulas: rho(s) = e^{-rate s}, x_{t-T_1}, prod_{i}.

import { h } from "./dom.js";

const WORDS = { rho: "ρ", sum: "∑", prod: "∏", sqrt: "√", "<=": "≤", ">=": "≥", "->": "→", "+-": "±" };

/** A <span> with superscripts and subscripts, also inside each other; the plain text is its label. */
export function formula(text) {
  return h("span", { class: "formula", role: "math", "aria-label": text }, set(text));
}

const plain = (piece) => piece.replace(/rho|sum(?![a-z])|prod(?![a-z])|sqrt|<=|>=|->|\+-/g, (word) => WORDS[word]);

/** Where the bracket that opens at `from` closes. */
function closing(text, from) {
  for (let at = from, depth = 0; at < text.length; at++) {
    if (text[at] === "{") depth++;
    if (text[at] === "}" && --depth === 0) return at;
  }
  return text.length;
}

function set(text) {
  const made = [];
  let at = 0;
  while (at < text.length) {
    const next = text.slice(at).search(/[\^_](?=[\w{\-∞+])/);
    if (next < 0) { made.push(plain(text.slice(at))); break; }
    made.push(plain(text.slice(at, at + next)));
    const mark = text[at + next], start = at + next + 1;
    const end = text[start] === "{" ? closing(text, start) : start + (text.slice(start).match(/^-?(?:min\([^)]*\)|\w+)/)?.[0].length ?? 1);
    made.push(h(mark === "^" ? "sup" : "sub", {}, set(text[start] === "{" ? text.slice(start + 1, end) : text.slice(start, end))));
    at = text[start] === "{" ? end + 1 : end;
  }
  return made;
}
