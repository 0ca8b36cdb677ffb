// "Why not fewer?": the claim of a lower bound, what its evidence is, and two inputs that heads cannot tell apart.

import { isStatic } from "./api.js";
import { h, number, table } from "./dom.js";
import { sentence } from "./formula.js";
import { figure } from "./plot.js";

const COLOURS = ["var(--c0)", "var(--c1)", "var(--c2)", "var(--c3)"];

// what the evidence of each kind of bound is, for who has not read docs/proved.md
const KINDS = {
  dual: "A test sequence y over lags. Every head answers it with at most the maximum below, so a sum within the budget answers little, while the memory answers much. The difference is error that no such sum avoids.",
  branch: "A tree of cases: every choice of signs and rates falls into one of its leaves. Each leaf has a test sequence over lags that such heads can answer with little only, while the memory answers much. The bound is that of the weakest leaf.",
  chebyshev: "Theorem B: the test sequence below holds the coefficients of a polynomial that stays small for every rate. A head answers it with at most the maximum below, the memory with 1: what a budget cannot make up for is error.",
  isolated: "Theorem A: at each of these lags the kernel stands alone in its window. A sum of so few heads leaves at least the kernel's own value there, whatever the coefficients.",
  block: "Theorem A applied to differences of the moving sum.",
  zeros: "Zero counting: a sum of so few heads changes sign too seldom to follow the signs of this residual on all of these blocks of lags.",
  squeeze: "Squeeze of rates: improving a sum of so few heads moves its rates in one direction only, so that the rates of the best sum lie in narrow cells. The test sequence changes sign at the lags below; every sum with rates in those cells answers it with nothing or less, and the memory with the bound.",
  trivial: "No bound above zero was found.",
};

/** The test sequences of a proof: one, or some of those of a tree. */
function sequences(proof) {
  if (proof.vectors) {
    const shown = proof.vectors.length, title = `Test sequences by lag: ${shown < proof.leaves ? `${shown} of ${proof.leaves} leaves` : "all leaves"}`;
    return figure({ title, x: { label: "lag" }, y: { label: "y" }, height: 180,
      series: proof.vectors.map((y, i) => ({ name: `leaf ${i + 1}`, kind: ["line", "dash", "dot", "long"][i], color: COLOURS[i], x: proof.lags, y })) });
  }
  return proof.y ? figure({ title: "The dual vector: test sequence by lag", x: { label: "lag" }, y: { label: "y" }, height: 180,
    series: [{ name: "y", unnamed: true, kind: "stem", color: "var(--c3)", x: proof.lags, y: proof.y }] }) : null;
}

export function why(found) {
  const { evidence: proof, collision, lower_bound: bound } = found;
  if (!bound) return null;
  const lags = collision?.x.map((_, i) => i + collision.first);
  return h("details", { class: "card", id: "why" }, h("summary", {}, "Why not fewer?"),
    h("p", {}, h("b", {}, "The claim. "), `The error is ${sentence(bound.words)}. Source: ${bound.source}.`),
    proof ? h("p", {}, h("b", {}, "Its evidence. "), KINDS[proof.kind] ?? `Method ${bound.method}.`,
      proof.places ? ` Lags: ${proof.places.slice(0, 24).join(", ")}${proof.places.length > 24 ? ", …" : ""}.` : "", proof.maximum ? ` Maximum over all rates: ${number(proof.maximum)}.` : "") : null,
    proof ? sequences(proof) : null,
    proof?.blocks ? table(["from lag", "to lag", "sign"], proof.blocks.map(([a, b, sign]) => [String(a), String(b - 1), sign > 0 ? "+" : "−"]), { caption: "Blocks of lags" }) : null,
    collision ? [figure({ title: "Two inputs that these heads cannot tell apart", x: { label: "lag" }, y: { label: "token" }, height: 200, series: [
      { name: "one", kind: "stem", color: "var(--c0)", x: lags, y: collision.x },
      { name: "the other", kind: "points", color: "var(--c1)", x: lags, y: collision.x.map((v) => -v) }] }),
    h("p", {}, `The memory answers them ${number(collision.memory)} apart. ${collision.heads < 1e-6 ? "Every one of these heads answers both with the same" : `No head tells them more than ${number(collision.heads)} apart`}, so that any sum of them is wrong on one of the two by at least ${number(collision.memory / 2)} (measured in float64, on the lags shown).`)] : null,
    isStatic() ? null : h("p", { class: "hint" }, "The claim stands on its evidence, which an independent checker accepts; the pictures help to see it."));
}
