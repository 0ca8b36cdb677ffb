// The error by number of heads, with the proved lower bound: which number the kernel needs.

import { chips, h, number, replace } from "./dom.js";
import { figure } from "./plot.js";

const SHARES = [["10", "10 %"], ["1", "1 %"], ["0.1", "0.1 %"]];
const seen = new Map(); // question without heads → heads → what is known: kept for this visit

/** What is known of this question, by number of heads. */
function known({ heads, ...rest }) {
  const key = JSON.stringify(rest);
  if (!seen.has(key)) seen.set(key, new Map());
  return seen.get(key);
}

/** Remember a fit, with its bound where it has one. */
export function remember(asked, found) {
  const points = known(asked), before = points.get(asked.heads), bound = found.lower_bound;
  points.set(asked.heads, { found, error: found.error[found.norm], whole: found.kernel_norm[found.norm],
    bound: bound ? bound.certified ? bound.value : null : before?.bound,
    always: bound?.certified && bound.heads === null ? bound.value : before?.always }); // however many heads
}

/** The best fit that is known with at most so many heads: a heads' fit serves where more are allowed. */
export function best(asked) {
  const fits = [...known(asked)].filter(([n]) => n <= asked.heads).map(([, point]) => point);
  return fits.length ? fits.reduce((a, b) => b.error < a.error ? b : a).found : null;
}

/** Numbers of heads whose answer would tell more, nearest first: none above one that leaves next to nothing. */
export function missing(asked, most) {
  const points = known(asked), done = [...points].filter(([, p]) => p.error <= 1e-6 * p.whole).map(([n]) => n);
  return Array.from({ length: Math.min(most, ...done) }, (_, i) => i + 1).filter((n) => points.get(n)?.bound === undefined)
    .sort((a, b) => Math.abs(a - asked.heads) - Math.abs(b - asked.heads) || a - b);
}

/** The answer to "how many heads?", from the fits and bounds that are known. */
function needed(by, percent, state) {
  const share = Number(percent) / 100, to = `${percent} % of the kernel (${state.bias} heads, ${state.norm}${state.budget ? `, budget ${number(Number(state.budget))}` : ""})`;
  const reached = by.find(([, p]) => p.error <= share * p.whole)?.[0];
  const proved = Math.max(0, ...by.filter(([, p]) => p.bound > share * p.whole).map(([n]) => n));
  if (by.some(([, p]) => p.always > share * p.whole)) return [h("b", {}, "No number of heads"), ` has an error of at most ${to}: proved.`];
  const below = by.filter(([n]) => n < (reached ?? Infinity)).length, whole = below === (reached ?? by.at(-1)[0] + 1) - 1;
  const excluded = !proved ? "no number of heads is proved too small" : proved + 1 === reached ? "fewer are proved impossible" : `${proved === 1 ? "1 is" : `${proved} or fewer are`} proved impossible`;
  if (reached) return [`Smallest number of heads found for an error of at most ${to}: `, h("b", {}, String(reached)), whole ? "" : " so far", reached > 1 ? `; ${excluded}.` : "."];
  return [`No number of heads ${whole ? `up to ${by.at(-1)[0]}` : "so far"} was found with an error of at most ${to}; ${excluded}.`];
}

/** A card that `paint` draws again when more is known. */
export function byHeads(state, asked, change) {
  const told = h("p", { class: "answer", id: "needed" }), held = h("div", {});
  const choice = chips("Error wanted", SHARES, state.below, (below) => { change({ below }); paint(); });
  const element = h("div", { class: "card", id: "by-heads" }, told, held, choice);
  const paint = () => {
    const by = [...known(asked)].sort(([a], [b]) => a - b), log = by.filter(([, p]) => p.error > 0).length > 1;
    element.hidden = !by.length;
    if (!by.length) return;
    replace(told, needed(by, state.below, state));
    const x = by.map(([n]) => n), level = Number(state.below) / 100 * by[0][1].whole;
    replace(held, by.length < 2 ? [] : figure({ title: "Error by number of heads", x: { label: "heads" }, y: { label: "error", log, depth: 1e8 }, height: 200, series: [
      { name: "best found", kind: "line", dots: true, color: "var(--c0)", x, y: by.map(([, p]) => p.error) },
      { name: "proved lower bound", kind: "dash", dots: true, color: "var(--c3)", x, y: by.map(([, p]) => p.bound > 0 ? p.bound : null) },
      { name: `wanted: ${number(level)}`, kind: "dot", color: "var(--c1)", width: 1.4, x: [x[0], x.at(-1)], y: [level, level] }] }));
  };
  paint();
  return { element, paint };
}
