// Plan: a memory and a tolerance in, the smallest architectures found out, with a model to take away.

import { ask, download, isStatic } from "../api.js";
import { capital, field, h, number, replace, save, select, table, term, wanted } from "../dom.js";
import { sentence } from "../formula.js";
import { panel } from "../panel.js";
import { figure } from "../plot.js";

export const title = "Plan";
export const defaults = { memory: "fixed:lags=1", tol: "0.2", dtype: "float32", length: "16" };
export const EXAMPLES = [["fixed:lags=1", "one token back"], ["fixed:lags=3+17", "3 and 17 tokens back"], ["prop42", "the token says how far (Proposition 4.2)"],
  ["essential:kernel=exp:0.5", "exponential decay"], ["parity:lags=1+2", "parity of two earlier signs"]];

export function show(main, state, context, outer) {
  const parts = panel(), result = h("div", {});
  const memory = h("textarea", { rows: 2, spellcheck: "false" });
  memory.value = state.memory;
  const tol = h("input", { type: "number", min: 0.0001, step: "any", value: state.tol });
  const length = h("input", { type: "number", min: 1, max: 1024, value: state.length });
  const dtype = select([["float32", "float32"], ["float64", "float64"]], state.dtype, () => {});
  const example = select([["", "choose …"], ...EXAMPLES], "", (value) => { if (value) { memory.value = value; form.requestSubmit(); } });
  const form = h("form", { class: "card controls", onsubmit: (e) => {
    e.preventDefault();
    Object.assign(state, { memory: memory.value.trim(), tol: tol.value, dtype: dtype.value, length: length.value });
    context.update(state);
    follow(state, parts, result, context);
  } }, field("Memory", memory, "As on the command line, for example fixed:lags=3+17,readout=linear"),
  field("Examples", example, isStatic() ? "This static copy answers these; run headcount serve to plan any memory and to download models." : null), field("Largest error allowed", tol), field("Precision", dtype),
  field("Longest sequence", length), h("button", {}, "Plan"));
  if (isStatic()) for (const control of form.elements) control.disabled = control !== example;
  replace(main, h("h1", {}, "Which Transformer serves this memory?"),
    h("p", { class: "lead" }, "For every positional bias and kind of attention: the smallest architecture that was found, what is proved out of reach, ",
      "and what is undecided. The recommended one has passed the whole check of a build and can be taken away as files."),
    h("div", { class: "split" }, form, h("div", {}, parts.error, parts.status, result)));
  follow(state, parts, result, context);
  outer.addEventListener("leave", () => parts.run(() => Promise.resolve(null)), { once: true });
}

/** A memory as typed: text, or a mapping in JSON. */
export const read = (text) => {
  if (!text.startsWith("{")) return text;
  try { return JSON.parse(text); } catch { throw new Error(`The memory “${text.slice(0, 60)}”: expected a mapping in JSON, or text as fixed:lags=3+17`); }
};

/** The tolerance and the length that a page holds. */
export const limits = (state) => ({ tol: wanted(state.tol, "Largest error allowed", { above: 0 }), length: wanted(state.length, "Longest sequence", { whole: true, least: 1, most: 1024 }) });

async function follow(state, parts, result, context) {
  const found = await parts.run(async (signal) => ask("plan", { memory: read(state.memory), ...limits(state), dtype: state.dtype }, signal));
  if (found) draw(result, state, found, parts, context);
}

const VERDICT = { true: ["yes", "good"], false: ["no", "bad"], null: ["undecided", "open"] };
/** As the command line calls a row: by the biases of all its layers. */
const named = (row) => {
  const all = row.biases.join("+");
  return row.familiar && row.familiar.toLowerCase() !== all ? `${all} (${row.familiar})` : row.familiar ?? all;
};
const counted = (n, noun) => `${n} ${n === 1 ? noun.replace(/s$/, "") : noun}`;

/** What is proved of the smallest sizes, beside what the recommended row has. */
function minima(found, best) {
  const sizes = { layers: best.layers, heads: best.heads, neurons: best.width };
  return h("ul", { id: "minimal" }, found.minimum.map(({ size, least, claim }) => {
    const has = sizes[size], noun = counted(has, size);
    if (has <= least) return h("li", {}, h("b", {}, noun), claim ? ": proved minimal. " : ": no model has fewer.", claim ? h("span", { class: "hint" }, `${capital(sentence(claim.words))}.`) : null);
    return h("li", {}, h("b", {}, noun), claim ? `: at least ${least} is proved. ` : ": whether fewer do is open.", claim ? h("span", { class: "hint" }, `${capital(sentence(claim.words))}.`) : null);
  }));
}

/** Why a row is reached, out of reach or undecided: a line, and a claim to open where there is one. */
function reasons(r) {
  const needs = r.needs.join(", ");
  if (r.reachable) return `construction ${r.construction}, ${r.status}${needs ? `; needs ${needs}` : ""}`;
  const said = sentence(r.reason ?? "").replace(/^undecided: /, ""), claim = r.certificate?.claim;
  return claim ? h("details", {}, h("summary", {}, said.split("; ")[0] || "proved"), said.includes("; ") ? `${said.split("; ").slice(1).join("; ")}. ` : "", `The claim: ${sentence(claim)}.`) : said;
}

function draw(result, state, found, parts, context) {
  const best = found.recommended, reachable = found.rows.filter((r) => r.reachable), front = found.front.map((i) => found.rows[i]);
  const build = best ? { memory: read(state.memory), tol: found.tol, bias: best.bias, theorem: best.construction, normaliser: best.normaliser, precision: found.dtype, length: found.length } : null;
  const take = build && !isStatic() ? h("button", { type: "button", onclick: async () => {
    take.disabled = true;
    const blob = await parts.run(() => download("build", build), true);
    take.disabled = false;
    if (blob) save(blob, "model.zip");
  } }, "Download the model") : null;
  const kinds = kindsOf(found.rows), out = kinds.filter((rows) => rows.some((r) => r.reachable === false)).length;
  const taken = best ? found.rows.find((r) => same(r, best)) : null;
  replace(result,
    h("div", { class: "card", id: "answer" }, h("p", { class: "answer" }, found.answer),
      found.length > Number(state.length) ? h("p", { id: "longer" }, `This memory needs sequences of at least ${found.length} tokens: planned for ${found.length}, not for ${state.length}.`) : null,
      best ? [h("p", {}, "Take ", h("b", {}, `${counted(best.layers, "layers")}, ${counted(best.heads, "heads")}, bias ${named(best)}`),
        " (", best.attention === "dp-free" ? term("dp-free") : best.attention, `, ${best.normaliser}, ${best.parameters} parameters): error at most ${number(best.error)} in float64, ${best.status}${best.error_float32 === null ? "" : `; ${number(best.error_float32)} measured in float32`}.`),
      found.first_position > 1 ? h("p", { id: "first" }, "This holds ", h("b", {}, `from position ${found.first_position} on`), ": at earlier ones the model's answer is not promised.") : null,
      minima(found, best),
      h("div", { class: "row" }, take, h("a", { href: context.link("model", { memory: state.memory, tol: state.tol, bias: best.bias, theorem: best.construction, normaliser: best.normaliser, length: String(found.length) }) }, "Watch it at work")),
      h("p", { class: "hint" }, "The same on the command line: ", h("code", {}, best.command))]
        : h("p", {}, "The rows say what is proved, and what is undecided."),
      h("p", { class: "hint" }, `${kinds.filter((rows) => rows.some((r) => r.reachable)).length} of ${kinds.length} kinds (bias and attention) reach ${found.tol}; ${out ? `of ${out} the table says which sizes are proved out of reach` : "none is proved out of reach"}.`)),
    reachable.length > 1 ? h("div", { class: "card" }, taken && reachable.some((r) => r.parameters < taken.parameters) ? h("p", { class: "hint", id: "why-taken" }, `Recommended: ${named(taken)}, ${taken.parameters} parameters. ${front.includes(taken) ? "" : "It is not on the front. "}Smaller ones exist, and each takes more of what common models lack: common parts come before small size.`) : null, figure({ title: "The front: error against size", x: { label: "parameters", log: true }, y: { label: "error in float64", log: true, depth: 1e8 }, height: 230, series: [
      { name: `allowed: ${number(found.tol)}`, kind: "dash", color: "var(--c1)", width: 1.4, ...line(reachable, found.tol) },
      { name: "smallest of their kind", kind: "points", size: 5, color: "var(--c6)", ...points(reachable.filter((r) => !front.includes(r))) },
      ...(taken ? [{ name: "recommended", kind: "points", size: 10, color: "var(--c2)", ...points([taken]), labels: front.includes(taken) ? [] : [named(taken)] }] : []),
      { name: "front: none is better in size and error at once", kind: "points", size: 6, color: "var(--c0)", labels: front.map(named), ...points(front) }] })) : null,
    h("div", { class: "card" }, h("h2", {}, "All kinds side by side"),
      table(["bias", "attention", "layers", "heads", "neurons", "parameters", "error in float64", "reached?", "why"], found.rows.map((r) => [
        named(r), `${r.attention}, ${r.normaliser}`, r.layers ?? r.layers_asked, r.heads, r.width, r.parameters, r.error,
        h("b", { class: VERDICT[r.reachable][1] }, VERDICT[r.reachable][0]), reasons(r)]),
      { cards: true, best: (k) => found.rows[k] === taken, caption: "Architectures" })));
}

const same = (row, best) => ["bias", "attention", "construction", "normaliser", "parameters"].every((key) => row[key] === best[key]);
/** Rows by bias and attention: one that serves in depth and one that is undecided in one layer are of one kind. */
function kindsOf(rows) {
  const kinds = new Map();
  for (const row of rows) {
    const key = `${row.biases} ${row.attention} ${row.normaliser}`;
    kinds.set(key, [...kinds.get(key) ?? [], row]);
  }
  return [...kinds.values()];
}

/** A level over the sizes of all rows. */
const line = (rows, level) => ({ x: [Math.min(...rows.map((r) => r.parameters)), Math.max(...rows.map((r) => r.parameters))], y: [level, level] });
const points = (rows) => ({ x: rows.map((r) => r.parameters), y: rows.map((r) => r.error || 1e-16) });
