// What a registered part is, in a line: its formula and its summary, from the catalogue.

import { h, replace } from "./dom.js";
import { formula, told } from "./formula.js";

const FAMILIAR = { lin: "ALiBi with learned slopes", log1p: "KERPLE, logarithmic", rope: "rotary", table: "T5 without buckets" };

/** An element that tells of the part `name()` names; `tell` does it again. The catalogue may come later. */
export function about(noun, name, context, outer) {
  const held = h("p", { class: "hint about" });
  const tell = () => {
    const found = context.catalogue?.parts[noun]?.find((entry) => entry.name === name());
    const known = noun === "bias" ? FAMILIAR[name()] : null;
    replace(held, found ? [h("span", { class: "line" }, noun === "bias" ? "added to a score at lag s: " : "", formula(found.formula)), told(found.summary), known ? ` Known as ${known}.` : null] : null);
  };
  outer.addEventListener("catalogue", tell, { once: true });
  tell();
  return { element: held, tell };
}
