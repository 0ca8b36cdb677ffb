// Plan: a memory and a tolerance in, the smallest architectures found out, with a model to take away.

import { ask, download } from "../api.js";
import { field, h, number, replace, select, table } from "../dom.js";
import { panel } from "../panel.js";
import { figure } from "../plot.js";

export const title = "Plan";
export const defaults = { memory: "fixed:lags=1", tol: "0.2", dtype: "float32", length: "16" };
const EXAMPLES = [["fixed:lags=1", "one token back"], ["fixed:lags=3+17", "3 and 17 tokens back"], ["prop42", "the token says how far (Proposition 4.2)"],
  ["essential:kernel=exp:0.5", "exponential decay"], ["parity:lags=1+2", "parity of two earlier signs"]];

export function show(main, state, context, outer) {
  const parts = panel(), result = h("div", {});
  const memory = h("textarea", { rows: 2, spellcheck: "false" });
  memory.value = state.memory;
  const tol = h("input", { type: "number", min: 0.0001, step: "any", value: state.tol });
  const length = h("input", { type: "number", min: 1, max: 1024, value: state.length });
  const dtype = select([["float32", "float32"], ["float64", "float64"]], state.dtype, () => {});
  const example = select([["", "choose …"], ...EXAMPLES], "", (value) => { if (value) memory.value = value; });
  const form = h("form", { class: "card controls", onsubmit: (e) => {
    e.preventDefault();
    Object.assign(state, { memory: memory.value.trim(), tol: tol.value, dtype: dtype.value, length: length.value });
    context.update(state);
    follow(state, parts, result, context);
  } }, field("Memory", memory, "As on the command line, for example fixed:lags=3+17,readout=linear"),
  field("Examples", example), field("Largest error allowed", tol), field("Precision", dtype),
  field("Longest sequence", length), h("button", {}, "Plan"));
  replace(main, h("h1", {}, "Which Transformer serves this memory?"),
    h("p", { class: "lead" }, "For every positional bias and kind of attention: the smallest architecture that was found, what is proved out of reach, ",
      "and what is undecided. The recommended one has passed the whole check of a build and can be taken away as files."),
    h("div", { class: "split" }, form, h("div", {}, parts.error, parts.status, result)));
  follow(state, parts, result, context);
  outer.addEventListener("leave", () => parts.run(() => Promise.resolve(null)), { once: true });
}

/** A memory as typed: text, or a mapping in JSON. */
export const read = (text) => text.startsWith("{") ? JSON.parse(text) : text;

async function follow(state, parts, result, context) {
  const found = await parts.run(async (signal) => ask("plan", { memory: read(state.memory), tol: Number(state.tol), dtype: state.dtype, length: Math.round(Number(state.length)) }, signal));
  if (found) draw(result, state, found, parts, context);
}

const VERDICT = { true: ["yes", "good"], false: ["no", "bad"], null: ["undecided", "open"] };

function front(rows) {
  return rows.filter((r) => r.reachable && !rows.some((o) => o.reachable && o !== r
    && o.parameters <= r.parameters && o.error <= r.error && (o.parameters < r.parameters || o.error < r.error)));
}

function draw(result, state, found, parts, context) {
  const best = found.recommended, reachable = found.rows.filter((r) => r.reachable), smallest = front(found.rows);
  const build = best ? { memory: read(state.memory), tol: found.tol, bias: best.bias, theorem: best.construction, precision: found.dtype, length: found.length } : null;
  if (build) build.normaliser = normaliserOf(best.command);
  const take = build ? h("button", { type: "button", onclick: async () => {
    take.disabled = true;
    const blob = await parts.run(() => download("build", build));
    take.disabled = false;
    if (blob) { const a = h("a", { href: URL.createObjectURL(blob), download: "model.zip" }); a.click(); setTimeout(() => URL.revokeObjectURL(a.href), 5000); }
  } }, "Download the model") : null;
  replace(result,
    h("div", { class: "card", id: "answer" }, best ? [
      h("p", { class: "answer" }, `Take `, h("b", {}, `${best.layers} layer${best.layers === 1 ? "" : "s"}, ${best.heads} head${best.heads === 1 ? "" : "s"}, bias ${best.bias}`),
        ` (${best.attention}, ${best.parameters} parameters): error at most ${number(best.error)}, ${best.status}; ${number(best.error_float32)} measured in float32.`),
      h("p", {}, `${reachable.length} of ${found.rows.length} kinds reach ${found.tol}; ${found.rows.filter((r) => r.reachable === false).length} are proved out of reach.`),
      h("div", { class: "row" }, take, h("a", { href: context.link("model", { memory: state.memory, tol: state.tol, bias: best.bias, theorem: best.construction, normaliser: build.normaliser, length: state.length }) }, "Watch it at work")),
      h("p", { class: "hint" }, h("code", {}, best.command))]
      : h("p", { class: "answer" }, "No architecture that reaches this tolerance was found. The rows say what is proved, and what is undecided.")),
    reachable.length > 1 ? h("div", { class: "card" }, figure({ title: "The front: error against size", x: { label: "parameters", log: true }, y: { label: "error", log: true }, height: 210, series: [
      { name: "smallest of their kind", kind: "points", size: 5, color: "var(--c6)", ...points(reachable.filter((r) => !smallest.includes(r))) },
      { name: "none is both smaller and better", kind: "points", size: 6, color: "var(--c0)", ...points(smallest) }] })) : null,
    h("div", { class: "card" }, h("h2", {}, "All kinds side by side"),
      table(["bias", "attention", "layers", "heads", "neurons", "parameters", "error", "reached?", "why"], found.rows.map((r) => [
        r.bias, r.attention, r.layers, r.heads, r.width, r.parameters, r.error,
        h("b", { class: VERDICT[r.reachable][1] }, VERDICT[r.reachable][0]), r.certificate?.claim ?? (r.reachable ? r.source : r.reason)]),
      { cards: true, best: (k) => best && found.rows[k].bias === best.bias && found.rows[k].attention === best.attention && found.rows[k].construction === best.construction, caption: "Architectures" })));
}

const points = (rows) => ({ x: rows.map((r) => r.parameters), y: rows.map((r) => r.error || 1e-16) });
const normaliserOf = (command) => command.match(/--normaliser (\S+)/)?.[1] ?? null;
