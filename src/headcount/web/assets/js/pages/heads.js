// Heads: how well so many heads draw a kernel, what each does, what is proved of all others.

import { about } from "../about.js";
import { ask, isStatic, stored } from "../api.js";
import { best, byHeads, missing, remember } from "../by_heads.js";
import { capital, chips, field, h, number, replace, select, table, term, wanted } from "../dom.js";
import { sentence, told } from "../formula.js";
import { asKernel, isDrawn, kernelChooser } from "../kernels.js";
import { panel, soon } from "../panel.js";
import { figure, numberLine } from "../plot.js";
import { why } from "../proof.js";

export const title = "Heads";
export const defaults = { kernel: "power:1.5", bias: "lin", heads: "4", budget: "", norm: "l1", dtype: "", window: "", axes: "linear", below: "1" };
const BIASES = [["lin", "lin"], ["log", "log"], ["log1p", "log1p"], ["peak", "peak"], ["table", "table"], ["rope", "rope"]];
const BUDGETS = [["", "no limit"], ["10", "10"], ["100", "100"], ["1000", "1000"], ["10000", "10 000"], ["1000000", "1 000 000"]];
const WINDOWS = [["", "all, without end"], ["16", "16"], ["64", "64"], ["256", "256"], ["1000", "1000"], ["4000", "4000"]];
const COLOURS = ["var(--c0)", "var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)"];

export function show(main, state, context, outer) {
  const parts = panel(), result = h("div", { "data-live": true }); // drawn while the rest is computed
  const heads = h("input", { type: "range", min: 1, max: MOST_HEADS, step: 1, value: state.heads, id: "heads" });
  const count = h("output", { for: "heads", class: "big" }, state.heads);
  parts.brief = h("p", { class: "hint", id: "brief" });
  parts.bar = h("div", { class: "card stick" }, h("div", { class: "row" }, h("label", { for: "heads" }, h("b", {}, "Heads")), count, h("div", { class: "grow" }, heads)), parts.brief);
  const refresh = soon(() => follow(state, parts, result, context));
  const change = (more, push = true) => {
    Object.assign(state, more);
    context.update(state, push);
    count.textContent = state.heads;
    if (more.below) return; // the same question
    parts.brief.textContent = "computing …";
    if (more.bias) bias.tell();
    refresh();
  };
  parts.change = change;
  const bias = about("bias", () => state.bias, context, outer);
  heads.addEventListener("input", () => change({ heads: heads.value }, false));
  heads.addEventListener("change", () => context.update(state, "rest"));
  if (isStatic()) return few(main, state, context, { heads, count, change, parts, result });
  parts.windows = select(offered(WINDOWS, state.window), state.window, (window) => change({ window }));
  const controls = h("form", { class: "card controls", onsubmit: (e) => e.preventDefault() },
    kernelChooser(state.kernel, (kernel, done) => change({ kernel }, done), context, outer),
    chips("Positional bias", BIASES, state.bias, (chosen) => change({ bias: chosen })), bias.element,
    h("details", { open: innerWidth > 900 }, h("summary", {}, "Budget, lags, norm, precision, axes"),
      field("Largest sum of |coefficients|", select(offered(BUDGETS, state.budget), state.budget, (budget) => change({ budget }))),
      field("Lags that exist", parts.windows, "A kernel is cut there, and later lags cost nothing"),
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
    h("div", { class: "split" }, controls, h("div", {}, parts.bar, parts.error, parts.status, result)));
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
    chips("Axes", [["linear", "linear"], ["log", "logarithmic"]], state.axes, (axes) => change({ axes }))), parts, result);
  follow(state, parts, result, context);
}

const question = (state) => ({
  kernel: asKernel(state.kernel), bias: state.bias, heads: wanted(state.heads, "Heads", { whole: true, least: 1, most: 64 }),
  budget: wanted(state.budget, "Budget", { above: 0, none: null }), norm: state.norm,
  dtype: state.dtype === "" ? null : state.dtype, window: wanted(state.window, "Lags that exist", { whole: true, least: 1, most: 4096, none: null }),
});

const DECAYS = ["lin", "log", "log1p"];
const AHEAD_AFTER = 400; // ms after an answer in which nobody moved the slider: its neighbours are computed
const REST_AFTER = 2500; // ms after the neighbours, for all other numbers of heads
const MOST_HEADS = 16;
const SKETCH_AFTER = 100; // ms without a fit, after which a sketch is asked for

// what is known at once is drawn at once; else a sketch, then the fit, then its certificate
async function follow(state, parts, result, context) {
  await parts.run(async (signal) => {
    const asked = question(state), decays = DECAYS.includes(state.bias);
    const fitting = ask("fit", { ...asked, certify: false }, signal);
    let quick, known = null; // a lower bound that is there before the fit
    const stop = decays && !isStatic() ? sketch(asked, signal, (found) => { known = found.lower_bound ?? null; draw(result, state, noWorse(asked, found), "sketch", context, parts); }) : () => {};
    try { quick = await fitting; } finally { stop(); }
    remember(asked, quick);
    draw(result, state, known ? { ...quick, lower_bound: known } : quick, decays ? "fit" : "all", context, parts);
    if (!decays) return;
    const whole = await ask("fit", { ...asked, certify: true }, signal);
    remember(asked, whole);
    draw(result, state, whole, "all", context, parts);
    setTimeout(() => ahead(asked, signal, parts), isStatic() ? 0 : AHEAD_AFTER);
  });
}

/** A sketch; or the heads of a fit with fewer, where they come closer: more heads never do worse. */
function noWorse(asked, sketched) {
  const fit = best(asked), { norm } = asked;
  if (!fit || fit.error[norm] >= sketched.error[norm]) return sketched;
  return { ...fit, heads: asked.heads, lower_bound: sketched.lower_bound, served_by: fit.heads };
}

const pause = (ms) => new Promise((done) => setTimeout(done, ms));

/** The neighbours on the slider, into the server's cache, and after a rest all other numbers of heads: a picture of
 * how many are needed. The next question of this page ends it, and nothing is asked for a page that nobody sees. */
async function ahead(asked, signal, parts) {
  const neighbours = [asked.heads + 1, asked.heads - 1].filter((n) => n >= 1 && n <= MOST_HEADS);
  const add = async (heads) => {
    const next = { ...asked, heads };
    remember(next, await ask("fit", { ...next, certify: true }, signal));
    parts.curve?.paint();
  };
  for (const heads of neighbours) {
    if (signal.aborted) return;
    try { await add(heads); } catch { if (!isStatic()) return; /* asked for when it is wanted */ }
  }
  if (!isStatic()) await pause(REST_AFTER);
  const tried = new Set(neighbours);
  for (let heads; (heads = missing(asked, MOST_HEADS).find((n) => !tried.has(n)));) {
    tried.add(heads);
    if (signal.aborted || document.hidden) return;
    try { await add(heads); } catch { if (!isStatic()) return; }
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
function draw(result, state, found, stage, context, parts) {
  const sketched = stage === "sketch", waiting = stage !== "all";
  const { lags, kernel, fit, heads } = found.curves;
  const log = state.axes === "log", x = { label: "lag", log };
  const from = Math.max(found.curves.first, log ? 1 : 0);
  const last = reach(lags, kernel), end = log ? lags.length : lags.filter((lag) => lag <= last).length;
  const cut = (values) => values.slice(from, end);
  const size = (values) => log ? values.map((v) => Math.abs(v) || null) : values;
  const s = cut(lags);
  const { residual } = found.curves;
  const y = (label) => ({ label: log ? `|${label}|` : label, log });
  if (parts.windows && !sketched && state.window === "") parts.windows.options[0].textContent = found.lags_judged ? `${found.lags_judged} (not summable)` : "all, without end";
  parts.brief.textContent = brief(found, stage);
  parts.curve = byHeads(state, question(state), parts.change);
  replace(result,
    answer(state, found, stage, context),
    h("div", { class: "card" }, figure({ title: "Kernel and sum of heads", x, y: y("value"), series: [
      { name: "kernel", kind: "stem", color: "var(--c6)", x: s, y: size(cut(kernel)) },
      { name: sketched ? "sum of heads (sketch)" : "sum of heads", kind: sketched ? "dash" : "line", color: "var(--c0)", x: s, y: size(cut(fit)) }] })),
    parts.curve.element,
    sketched ? null : h("div", { class: "card" }, numbers(found, waiting)),
    h("div", { class: "two" },
      h("div", { class: "card" }, figure({ title: "Each head, times its coefficient", x, y: y("value"),
        series: heads.slice(0, 24).map((values, i) => ({ name: `head ${i + 1}`, unnamed: heads.length > 8, kind: ["line", "dash", "dot", "long"][Math.floor(i / 7) % 4],
          color: COLOURS[i % 7], width: 1.6, x: s, y: size(cut(values)) })) })),
      h("div", { class: "card" }, figure({ title: "What is left over", x, y: y("kernel − sum"),
        series: [{ name: "residual", kind: "stem", color: "var(--c1)", x: s, y: size(cut(residual)) }] }))),
    waiting ? null : why(found),
    sketched ? null : h("details", { class: "card" }, h("summary", {}, "Rates, coefficients and how they were found"),
      h("p", {}, `Method: ${found.method}.`),
      table(["head", "rate", "coefficient"], found.coefficients.map((a, i) => [i + 1, found.rates[i] ?? "–", a]), { caption: "Heads" }),
      h("p", {}, "On the command line: ", h("code", {}, command(state)))));
}

/** The last lag to draw: some more than the last at which the kernel counts beside its largest value. */
function reach(lags, kernel) {
  const top = Math.max(...kernel.map(Math.abs));
  const counts = lags.filter((_, i) => Math.abs(kernel[i]) > 0.01 * top);
  return Math.max(24, Math.ceil(1.4 * (counts.at(-1) ?? 0)));
}

const command = (state) => `headcount fit ${isDrawn(state.kernel) ? "drawn.csv" : state.kernel} --bias ${state.bias} --heads ${state.heads}`
  + (state.budget ? ` --budget ${state.budget}` : "") + (state.norm === "l1" ? "" : ` --norm ${state.norm}`) + (state.dtype ? ` --dtype ${state.dtype}` : "") + (state.window ? ` --window ${state.window}` : "");

const least = (bound, error) => [h("b", {}, "No sum does better than "), h("b", { class: "big" }, number(bound.value)), error ? tight(error, bound.value) : "", ": ", `${sentence(bound.words)}.`];

/** The answer in a line, beside the slider. */
function brief(found, stage) {
  const error = found.error[found.norm], whole = found.kernel_norm[found.norm], bound = found.lower_bound?.value;
  const about = found.served_by ? "at most " : stage === "sketch" ? "about " : "";
  return `Error ${about}${number(error)} in ${found.norm}${whole ? ` (${number(100 * error / whole)} % of the kernel)` : ""}${bound > 0 ? `, at least ${number(bound)} for any such sum` : ""}`;
}

/** What is proved of all other sums of so many heads. */
function claimed(found, stage) {
  const error = found.error[found.norm], bound = found.lower_bound;
  if (stage === "sketch") return found.served_by ? `The heads of the fit with ${found.served_by}, which serve here too; the search for better ones goes on …` : "A first sketch; the search for the best heads goes on …";
  if (error === 0) return "Nothing is left over: no sum can do better.";
  if (stage === "fit" && !bound) return "The lower bound is being computed …";
  if (!bound) return "No lower bound is computed for this bias.";
  if (bound.value > 0) return least(bound, error);
  if (found.infimum_zero) return `No error is the smallest: ${found.heads} such heads, one for every lag that the kernel reaches, come as close to it as one likes, with coefficients that grow without end. A budget ends that.`;
  return "No positive lower bound is known for this question.";
}

function answer(state, found, stage, context) {
  const sketched = stage === "sketch";
  const error = found.error[found.norm], bound = found.lower_bound, whole = found.kernel_norm[found.norm];
  const share = whole ? error / whole : null, notes = found.notes ?? [];
  return h("div", { class: "card", id: "answer" },
    h("p", { class: "answer" }, `${found.heads} ${found.bias} head${found.heads === 1 ? "" : "s"}: error ${found.served_by ? "at most " : sketched ? "about " : ""}`,
      h("b", { class: "big", id: "error" }, number(error)), " in ", found.norm === "l1" ? term("l1") : found.norm,
      share === null ? "" : ` (${number(100 * share)} % of the kernel)`, ".",
      found.heads < Number(state.heads) ? ` ${found.heads === 1 ? "One suffices" : `${found.heads} suffice`}: more would add nothing.` : ""),
    sketched && bound?.value > 0 ? h("p", {}, least(bound, 0)) : null,
    h("p", { id: "claim" }, claimed(found, stage)),
    notes.length && !sketched ? h("p", { class: "hint", id: "notes" }, told(capital(notes.join("; "))), ".") : null,
    sketched || isDrawn(state.kernel) || isStatic() ? null : h("p", { class: "hint" }, h("a", { href: context.link("plan", { memory: `essential:kernel=${state.kernel}` }) }, "Plan a Transformer for this kernel"),
      ": every bias compared, and a model to take away"));
}

/** How much the bound leaves open, where it says something. */
const tight = (error, bound) => bound < 0.5 * error ? "" : bound >= error ? " (this sum is optimal)" : ` (at most ${number(Math.max(0.1, 100 * (1 - bound / error)), 2)} % less is possible)`;

function numbers(found, waiting) {
  const bound = found.lower_bound?.value, error = found.error[found.norm];
  const promised = found.promised;
  const entries = [
    { name: "promised", value: promised.value, told: promised.value === null ? (promised.reasons[0] ? "does not apply" : "–") : number(promised.value) + (promised.vacuous ? " (vacuous)" : ""), vacuous: promised.vacuous && promised.value !== null, color: "var(--c3)" },
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
