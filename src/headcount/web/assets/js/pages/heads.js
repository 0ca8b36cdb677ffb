// Heads: how well so many heads draw a kernel, what each does, what is proved of all others.

import { about } from "../about.js";
import { ask, isStatic, stored } from "../api.js";
import { chips, field, h, number, replace, select, table, term } from "../dom.js";
import { sentence, told } from "../formula.js";
import { asKernel, isDrawn, kernelChooser } from "../kernels.js";
import { panel, soon } from "../panel.js";
import { figure, numberLine } from "../plot.js";

export const title = "Heads";
export const defaults = { kernel: "lag:2", bias: "lin", heads: "3", budget: "", norm: "l1", dtype: "", window: "", axes: "linear" };
const BIASES = [["lin", "lin"], ["log", "log"], ["log1p", "log1p"], ["peak", "peak"], ["table", "table"], ["rope", "rope"]];
const BUDGETS = [["", "no limit"], ["10", "10"], ["100", "100"], ["1000", "1000"], ["10000", "10 000"], ["1000000", "1 000 000"]];
const WINDOWS = [["", "all, without end"], ["16", "16"], ["64", "64"], ["256", "256"], ["1000", "1000"], ["4000", "4000"]];
const COLOURS = ["var(--c0)", "var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)"];
const seen = new Map(); // question without heads → heads → answer: the trail of this visit

export function show(main, state, context, outer) {
  const parts = panel(), result = h("div", { "data-live": true }); // drawn while the rest is computed
  const heads = h("input", { type: "range", min: 1, max: MOST_HEADS, step: 1, value: state.heads, id: "heads" });
  const count = h("output", { for: "heads", class: "big" }, state.heads);
  const refresh = soon(() => follow(state, parts, result, context));
  const change = (more, push = true) => {
    Object.assign(state, more);
    context.update(state, push);
    count.textContent = state.heads;
    if (more.bias) bias.tell();
    refresh();
  };
  const bias = about("bias", () => state.bias, context, outer);
  heads.addEventListener("input", () => change({ heads: heads.value }, false));
  heads.addEventListener("change", () => context.update(state, true));
  if (isStatic()) return few(main, state, context, { heads, count, change, parts, result });
  const controls = h("form", { class: "card controls", onsubmit: (e) => e.preventDefault() },
    kernelChooser(state.kernel, (kernel, done) => change({ kernel }, done), context, outer),
    h("div", { class: "field" }, h("div", { class: "row" }, h("label", { for: "heads" }, h("b", {}, "Heads")), count), heads),
    chips("Positional bias", BIASES, state.bias, (chosen) => change({ bias: chosen })), bias.element,
    h("details", { open: innerWidth > 900 }, h("summary", {}, "Budget, lags, norm, precision, axes"),
      field("Largest sum of |coefficients|", select(offered(BUDGETS, state.budget), state.budget, (budget) => change({ budget }))),
      field("Lags that exist", select(offered(WINDOWS, state.window), state.window, (window) => change({ window })), "A kernel is cut there, and later lags cost nothing"),
      chips("Error norm", [["l1", "l1"], ["l2", "l2"], ["sup", "sup"]], state.norm, (norm) => change({ norm })),
      field("Best heads for", select([["", "exact arithmetic"], ["float32", "float32"], ["bfloat16", "bfloat16"]], state.dtype, (dtype) => change({ dtype }))),
      chips("Axes", [["linear", "linear"], ["log", "logarithmic"]], state.axes, (axes) => change({ axes }))));
  lay(main, controls, parts, result);
  follow(state, parts, result, context);
  outer.addEventListener("leave", () => parts.run(() => Promise.resolve(null)), { once: true });
}

/** The choices, and what an address says where it is none of them. */
const offered = (choices, chosen) => choices.some(([value]) => value === chosen) ? choices : [...choices, [chosen, chosen]];

function lay(main, controls, parts, result) {
  replace(main, h("h1", {}, "How many heads does this memory need?"),
    h("p", { class: "lead" }, "A head that looks by position alone draws one curve over the lags, and a layer adds up the curves of its heads. Move the slider: ",
      "the best sum that was found, what each head contributes, and the error that no such sum can go below."),
    h("div", { class: "split" }, controls, h("div", {}, parts.error, parts.status, result)));
}

/** A static copy offers what it can answer: its examples, and the heads that were computed. */
function few(main, state, context, { heads, count, change, parts, result }) {
  const most = new Map();
  for (const { kernel, bias, heads: n } of stored("fit")) most.set(`${kernel} ${bias}`, Math.max(n, most.get(`${kernel} ${bias}`) ?? 0));
  const fit = () => {
    heads.max = most.get(`${state.kernel} ${state.bias}`) ?? MOST_HEADS;
    heads.value = state.heads = String(Math.min(Number(state.heads), Number(heads.max)));
  };
  const example = select([...most.keys()].map((key) => [key, `${key.split(" ")[0]}, ${key.split(" ")[1]} heads`]), `${state.kernel} ${state.bias}`, (key) => {
    [state.kernel, state.bias] = key.split(" ");
    fit();
    change({});
  });
  fit();
  count.textContent = state.heads;
  lay(main, h("form", { class: "card controls", onsubmit: (e) => e.preventDefault() }, field("Kernel and bias", example),
    h("div", { class: "field" }, h("div", { class: "row" }, h("label", { for: "heads" }, h("b", {}, "Heads")), count), heads),
    chips("Axes", [["linear", "linear"], ["log", "logarithmic"]], state.axes, (axes) => change({ axes }))), parts, result);
  follow(state, parts, result, context);
}

const question = (state) => ({
  kernel: asKernel(state.kernel), bias: state.bias, heads: Number(state.heads),
  budget: state.budget === "" ? null : Number(state.budget), norm: state.norm,
  dtype: state.dtype === "" ? null : state.dtype, window: state.window === "" ? null : Number(state.window),
});

const DECAYS = ["lin", "log", "log1p"];
const AHEAD_AFTER = 400; // ms after an answer in which nobody moved the slider: its neighbours are computed
const MOST_HEADS = 16;
const SKETCH_AFTER = 100; // ms without a fit, after which a sketch is asked for

// what is known at once is drawn at once; else a sketch, then the fit, then its certificate
async function follow(state, parts, result, context) {
  await parts.run(async (signal) => {
    const asked = question(state), decays = DECAYS.includes(state.bias);
    const fitting = ask("fit", { ...asked, certify: false }, signal);
    let quick, known = null; // a lower bound that is there before the fit
    const stop = decays && !isStatic() ? sketch(asked, signal, (found) => { known = found.lower_bound ?? null; draw(result, state, found, "sketch", context); }) : () => {};
    try { quick = await fitting; } finally { stop(); }
    draw(result, state, known ? { ...quick, lower_bound: known } : quick, decays ? "fit" : "all", context);
    if (decays) draw(result, state, await ask("fit", { ...asked, certify: true }, signal), "all", context);
    if (decays && !isStatic()) setTimeout(() => ahead(asked, signal), AHEAD_AFTER);
  });
}

/** The neighbours on the slider, into the server's cache; the next question of this page ends it. */
async function ahead(asked, signal) {
  for (const heads of [asked.heads + 1, asked.heads - 1].filter((n) => n >= 1 && n <= MOST_HEADS)) {
    if (signal.aborted) return;
    try { await ask("fit", { ...asked, heads, certify: true }, signal); } catch { return; /* asked for when it is wanted */ }
  }
}

/** Asks for a sketch in a moment, then for the lower bound, which needs no fit; the function returned gives them up. */
function sketch({ kernel, bias, heads, budget, norm, window }, signal, show) {
  const control = new AbortController();
  const timer = setTimeout(async () => {
    try {
      const both = AbortSignal.any([signal, control.signal]), values = { kernel, bias, heads, budget, norm, window };
      const found = await ask("draft", values, both);
      if (!both.aborted) show(found);
      const { lower_bound } = await ask("bound", values, both);
      if (!both.aborted && lower_bound) show({ ...found, lower_bound });
    } catch { /* the fit is on its way */ }
  }, SKETCH_AFTER);
  return () => { clearTimeout(timer); control.abort(); };
}

/** `stage`: sketch | fit | all. */
function draw(result, state, found, stage, context) {
  const sketched = stage === "sketch", waiting = stage !== "all";
  const { lags, kernel, fit, heads } = found.curves;
  const log = state.axes === "log", x = { label: "lag", log };
  const from = Math.max(found.curves.first, log ? 1 : 0);
  const end = log ? lags.length : reach(kernel);
  const cut = (values) => values.slice(from, end);
  const size = (values) => log ? values.map((v) => Math.abs(v) || null) : values;
  const s = cut(lags);
  const residual = kernel.map((v, i) => v - fit[i]);
  const y = (label) => ({ label: log ? `|${label}|` : label, log });
  replace(result,
    answer(state, found, stage, context),
    h("div", { class: "card" }, figure({ title: "Kernel and sum of heads", x, y: y("value"), series: [
      { name: "kernel", kind: "stem", color: "var(--c6)", x: s, y: size(cut(kernel)) },
      { name: sketched ? "sum of heads (sketch)" : "sum of heads", kind: sketched ? "dash" : "line", color: "var(--c0)", x: s, y: size(cut(fit)) }] })),
    sketched ? null : h("div", { class: "card" }, numbers(found, waiting)),
    h("div", { class: "two" },
      h("div", { class: "card" }, figure({ title: "Each head, times its coefficient", x, y: y("value"),
        series: heads.slice(0, 24).map((values, i) => ({ name: `head ${i + 1}`, unnamed: heads.length > 8, kind: ["line", "dash", "dot", "long"][Math.floor(i / 7) % 4],
          color: COLOURS[i % 7], width: 1.6, x: s, y: size(cut(values)) })) })),
      h("div", { class: "card" }, figure({ title: "What is left over", x, y: y("kernel − sum"),
        series: [{ name: "residual", kind: "stem", color: "var(--c1)", x: s, y: size(cut(residual)) }] }))),
    sketched ? null : trail(state, found),
    waiting ? null : why(found),
    sketched ? null : h("details", { class: "card" }, h("summary", {}, "Rates, coefficients and how they were found"),
      h("p", {}, `Method: ${found.method}. `, found.notes.length ? [told(found.notes.join("; ")), "."] : null),
      table(["head", "rate", "coefficient"], found.coefficients.map((a, i) => [i + 1, found.rates[i] ?? "–", a]), { caption: "Heads" }),
      h("p", {}, "On the command line: ", h("code", {}, command(state)))));
}

/** How many lags to draw: what holds nearly all of the kernel, and some more. */
function reach(kernel) {
  const whole = kernel.reduce((sum, v) => sum + Math.abs(v), 0);
  let sum = 0, s = 0;
  while (s < kernel.length && (sum += Math.abs(kernel[s++])) < 0.97 * whole);
  return Math.min(kernel.length, 97, Math.max(25, Math.ceil(1.4 * s)));
}

const command = (state) => `headcount fit ${isDrawn(state.kernel) ? "drawn.csv" : state.kernel} --bias ${state.bias} --heads ${state.heads}`
  + (state.budget ? ` --budget ${state.budget}` : "") + (state.norm === "l1" ? "" : ` --norm ${state.norm}`) + (state.dtype ? ` --dtype ${state.dtype}` : "") + (state.window ? ` --window ${state.window}` : "");

const least = (bound, error) => [h("b", {}, "No sum does better than "), h("b", { class: "big" }, number(bound.value)), error ? tight(error, bound.value) : "", ": ", `${sentence(bound.words)}.`];

function answer(state, found, stage, context) {
  const sketched = stage === "sketch";
  const error = found.error[found.norm], bound = found.lower_bound, whole = found.kernel_norm[found.norm];
  const share = whole ? error / whole : null;
  return h("div", { class: "card", id: "answer" },
    h("p", { class: "answer" }, `${found.heads} ${found.bias} head${found.heads === 1 ? "" : "s"}: error ${sketched ? "about " : ""}`,
      h("b", { class: "big", id: "error" }, number(error)), " in ", found.norm === "l1" ? term("l1") : found.norm,
      share === null ? "" : ` (${number(100 * share)} % of the kernel)`, ".",
      found.heads < Number(state.heads) ? ` ${found.heads === 1 ? "One suffices" : `${found.heads} suffice`}: more would add nothing.` : ""),
    sketched && bound?.value > 0 ? h("p", {}, least(bound, 0)) : null,
    h("p", { id: "claim" }, sketched ? "A first sketch; the search for the best heads goes on …"
      : stage === "fit" && !bound ? "The lower bound is being computed …"
      : bound && bound.value > 0 ? least(bound, error)
      : bound ? "No positive lower bound is known for this question."
      : "No lower bound is computed for this bias."),
    sketched || isDrawn(state.kernel) || isStatic() ? null : h("p", { class: "hint" }, h("a", { href: context.link("plan", { memory: `essential:kernel=${state.kernel}` }) }, "Plan a Transformer for this kernel"),
      ": every bias compared, and a model to take away"));
}

/** How much the bound leaves open, where it says something. */
const tight = (error, bound) => bound < 0.5 * error ? "" : ` (at most ${number(Math.max(0.1, 100 * (1 - bound / error)), 2)} % less is possible)`;

function numbers(found, waiting) {
  const bound = found.lower_bound?.value, error = found.error[found.norm];
  const promised = found.promised;
  const entries = [
    { name: "promised", value: promised.value, told: promised.value === null ? (promised.reasons[0] ? "does not apply" : "–") : number(promised.value) + (promised.vacuous ? " (vacuous)" : ""), color: "var(--c3)" },
    { name: "possible", value: error, low: waiting || bound === undefined ? undefined : bound, told: number(error) + (waiting || !bound ? "" : `, at least ${number(bound)}`), color: "var(--c0)" },
    { name: "in float32", value: found.error_float32, told: found.error_float32 === null ? "overflows" : number(found.error_float32), color: "var(--c2)" },
    { name: "in bfloat16", value: found.error_bfloat16, told: found.error_bfloat16 === null ? "overflows" : number(found.error_bfloat16), color: "var(--c2)" },
    { name: "learned", value: null, told: "takes training: headcount train", color: "var(--c1)" },
  ];
  return [numberLine(`Four numbers: error in ${found.norm}`, entries),
    h("p", { class: "hint" }, term("promised"), " · ", term("possible"), " · ", term("representable"), " · ", term("learned"),
      ". In float32 and in bfloat16 is what is representable."),
    lost(found), chance(found),
    promised.reasons.length ? h("p", { class: "hint" }, "Promised: ", told(promised.reasons.join("; ")), ".") : null];
}

/** Where rounding leaves an error above the kernel itself: why. */
function lost(found) {
  const whole = found.kernel_norm[found.norm], error = { float32: found.error_float32, bfloat16: found.error_bfloat16 };
  const formats = Object.keys(error).filter((name) => error[name] === null || error[name] > whole);
  if (!formats.length || !whole) return null;
  const reach = Math.max(...found.coefficients.map((a) => Math.abs(Number(a))));
  return h("p", { id: "lost" }, `The heads' coefficients reach ${number(reach, 1)} and cancel: ${formats.join(" and ")} ${formats.length > 1 ? "lose" : "loses"} what is left of them.`,
    isStatic() ? "" : " Set a budget to keep them small.");
}

/** Where a format does well although it lacks the digits: that is luck, and may be gone with the next heads. */
function chance(found) {
  const formats = Object.keys(found.rounding).filter((name) => found.rounding[name].by_chance);
  return formats.length ? h("p", { id: "chance" }, `${formats.join(" and ")}: by chance. Cancelling costs these heads ${number(found.digits_lost, 2)} digits, more than the format has, but their roundings happen to agree. Other heads need not have that luck.`) : null;
}

function trail(state, found) {
  const { heads, ...rest } = question(state);
  const key = JSON.stringify(rest);
  if (!seen.has(key)) seen.set(key, new Map());
  const points = seen.get(key).set(heads, { ...(seen.get(key).get(heads) ?? {}), error: found.error[found.norm], ...(found.lower_bound ? { bound: found.lower_bound.value } : {}) });
  if (points.size < 2) return null;
  const by = [...points].sort(([a], [b]) => a - b), log = by.every(([, p]) => p.error > 0);
  return h("div", { class: "card" }, figure({ title: "Error by number of heads, where you have been", x: { label: "heads" }, y: { label: "error", log }, height: 200, series: [
    { name: "found", kind: "line", dots: true, color: "var(--c0)", x: by.map(([n]) => n), y: by.map(([, p]) => p.error) },
    { name: "proved lower bound", kind: "dash", dots: true, color: "var(--c3)", x: by.map(([n]) => n), y: by.map(([, p]) => p.bound > 0 ? p.bound : null) }] }));
}

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

function why(found) {
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
