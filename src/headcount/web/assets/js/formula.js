// The registry's plain formulas, set as formulas: rho(s) = e^{-rate s} → ρ(s) = e⁻…

import { h } from "./dom.js";

const WORDS = { rho: "ρ", sum: "∑", prod: "∏", floor: "floor", "|": "|", "+-": "±", sqrt: "√", "<=": "≤", ">=": "≥", "->": "→" };

/** A <span> with superscripts and subscripts; the plain text is its label. */
export function formula(text) {
  const made = h("span", { class: "formula", role: "math", "aria-label": text });
  let at = 0;
  const put = (piece) => made.append(piece.replace(/rho|sum_|sum|prod_|prod|sqrt|<=|>=|->/g,
    (word) => (WORDS[word.replace("_", "")] ?? word) + (word.endsWith("_") ? "_" : "")));
  while (at < text.length) {
    const next = text.slice(at).search(/[\^_](?=[\w{\-∞+])/);
    if (next < 0) { put(text.slice(at)); break; }
    put(text.slice(at, at + next).replace(/(sum|prod)$/, "$1"));
    const mark = text[at + next];
    let rest = text.slice(at + next + 1), inner;
    if (rest[0] === "{") {
      const end = rest.indexOf("}");
      inner = rest.slice(1, end < 0 ? undefined : end);
      at += next + 1 + (end < 0 ? rest.length : end + 1);
    } else {
      inner = rest.match(/^-?\w+/)?.[0] ?? rest[0];
      at += next + 1 + inner.length;
    }
    made.append(h(mark === "^" ? "sup" : "sub", {}, inner.replaceAll("_", "")));
  }
  return made;
}
