// Runs: a store of training runs while it fills.

import { ask, look } from "../api.js";
import { field, h, number, replace, table } from "../dom.js";
import { panel } from "../panel.js";
import { figure } from "../plot.js";
import { verdictTable } from "./studies.js";

export const title = "Runs";
export const defaults = { store: "", curves: "" };
const FEW = 8; // runs that are listed without being asked for
const MOSTLY = 0.9; // of the points of two curves that lie on each other
const NEAR = 0.012; // of the height of a drawing: a line is about as thick
const EVERY = 4000, REST = 5, MOST = 24, SHOWN = 4;
const COLOURS = ["var(--c0)", "var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)"];

export async function show(main, state, context, outer) {
  const parts = panel(), result = h("div", {});
  let left = false, timer = null, offered = [], drawn = "", looked = "", first = null;
  const quietly = async (work) => { // a look at what is shown already
    try { return await work(); } catch (error) { parts.complain(error.message); return null; }
  };
  outer.addEventListener("leave", () => { left = true; clearTimeout(timer); }, { once: true });
  const chooser = h("select", {}, h("option", { value: "" }, "choose a store …"));
  const again = async () => {
    if (left || !state.store) return;
    const curves = state.curves ? state.curves.split(",").slice(0, 12) : offered;
    const work = (signal) => ask("runs", { store: state.store, curves }, signal);
    const store = state.store, begun = performance.now(), found = await (store === looked ? quietly(work) : parts.run(work));
    if (left || store !== state.store) return;
    if (store !== looked) first = null;
    looked = found ? store : "";
    if (!found) drawn = "";
    const said = found && JSON.stringify([found, state.curves]);
    if (found && said !== drawn) { // what stays the same stays under the hand
      drawn = said;
      const done = found.finished + found.failed, now = performance.now();
      first ??= { done, now };
      const pace = (now - first.now) / (done - first.done); // of the runs seen to end here
      found.left = found.sweeps.length && Number.isFinite(pace) && done < found.runs ? pace * (found.runs - done) : null;
      held(result, () => draw(result, state, found, choose, act, context));
    }
    if (found && !state.curves && !offered.length) { // until runs are chosen, the first that are done
      const kinds = new Map(); // one run of each kind, whatever its seed
      for (const line of found.lines) if (line.outcome === "finished" && !kinds.has(seedless(line.label))) kinds.set(seedless(line.label), line.id);
      offered = [...kinds.values()].slice(0, SHOWN);
      if (offered.length) { again(); return; }
    }
    const pause = Math.max(EVERY, REST * (performance.now() - begun)); // a look at many runs takes a while
    parts.say(found ? `last looked at ${new Date().toLocaleTimeString()}; looks again every ${Math.round(pause / 1000)} s` : "");
    clearTimeout(timer);
    timer = setTimeout(again, pause);
  };
  const act = async (word) => {
    parts.complain(null);
    try {
      const done = await ask("sweep", { store: state.store, act: word });
      parts.say(word === "stop" ? `${done.sweeps} sweep${done.sweeps === 1 ? "" : "s"} asked to stop; what is stored stays` : `starting to compute ${done.runs} runs …`);
    } catch (error) { parts.complain(error.message); }
  };
  const choose = (ids) => { state.curves = ids.join(","); context.update(state); again(); };
  chooser.addEventListener("change", () => { state.store = chooser.value; state.curves = ""; offered = []; context.update(state); again(); });
  replace(main, h("h1", {}, "Training runs"), h("p", { class: "lead" }, "A store of training runs below the opened folder, also while a sweep fills it: progress, learning curves, and verdicts as they are decided."),
    h("div", { class: "card" }, field("Store", chooser, "A file .sqlite, written by headcount train, sweep, reproduce and study")), parts.error, parts.status, result);
  try {
    const { stores, root } = await look("found");
    chooser.append(...stores.map((s) => h("option", { value: s }, s)));
    if (!stores.length) replace(result, h("p", { class: "note" }, `No store is below “${root}”. Make one with headcount reproduce --profile smoke -o first, or open another folder with --root.`));
    if (!state.store && stores.length) state.store = stores[0];
    chooser.value = state.store;
  } catch (error) { parts.complain(error.message); }
  again();
}

/** Seconds as the command line says them. */
function spoken(seconds) {
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  return whole < 3600 ? `${Math.floor(whole / 60)} min ${whole % 60} s` : `${Math.floor(whole / 3600)} h ${Math.floor(whole % 3600 / 60)} min`;
}

const seedless = (label) => label.replace(/, seed \d+$/, "");

/** Names of runs without what they all share, and that. */
function apart(labels) {
  const split = labels.map((label) => label.split(", ")), common = (split[0] ?? []).filter((part) => split.every((parts) => parts.includes(part)));
  return { common: common.join(", "), names: split.map((parts) => parts.filter((part) => !common.includes(part)).join(", ")) };
}

const KINDS = { train_loss: "dash", eval_loss: "line" };

const FOCUSABLE = "a[href], button, input, select, summary, [tabindex]";
const called = (element) => `${element.tagName} ${element.getAttribute("aria-label") ?? element.textContent.trim()}`;
const place = (result, element) => [...result.querySelectorAll(FOCUSABLE)].filter((e) => called(e) === called(element)).indexOf(element);

/** Draws anew, and gives the keyboard back what it held: the same thing, or the answer where that is gone; what was open stays open. */
function held(result, drawing) {
  const active = result.contains(document.activeElement) ? document.activeElement : null;
  const name = active && called(active), nth = active && place(result, active);
  const summaries = () => [...result.querySelectorAll("details > summary")];
  const before = new Map(summaries().map((s) => [`${called(s).replace(/\d+/g, "")} ${place(result, s)}`, s.parentElement.open]));
  drawing();
  for (const s of summaries()) {
    const was = before.get(`${called(s).replace(/\d+/g, "")} ${place(result, s)}`);
    if (was !== undefined) s.parentElement.open = was;
  }
  if (!active) return;
  const same = [...result.querySelectorAll(FOCUSABLE)].filter((e) => called(e) === name);
  (same[nth] ?? result.querySelector("#answer"))?.focus({ preventScroll: true });
}

/** A colour per run, named once: the loss on held-out data as a line, that in training dashed. What else was logged
 * (the relative loss is the same curve on another scale) is drawn where there is none of them. */
function curves(losses) {
  const ids = [...new Set(losses.map((c) => c.id))], { common, names } = apart(ids.map((id) => losses.find((c) => c.id === id).label || id));
  const plain = losses.filter((c) => Object.hasOwn(KINDS, c.metric)), drawn = plain.length ? plain : losses, named = new Set();
  return { common, both: new Set(plain.map((c) => c.metric)).size > 1, series: drawn.slice(0, 24).map((c) => {
    const i = ids.indexOf(c.id), own = names[i] || (ids.length > 1 ? c.id.slice(0, 8) : "");
    const metric = c.metric.replaceAll("_", " "), unnamed = plain.length > 0 && (c.metric !== "eval_loss" && plain.some((o) => o.id === c.id && o.metric === "eval_loss") || named.has(c.id));
    if (!unnamed) named.add(c.id);
    return { name: `${own} ${plain.length && !unnamed && own ? "" : metric}`.trim(), unnamed, kind: KINDS[c.metric] ?? "line", color: COLOURS[i % 7], x: c.step, y: c.value };
  }) };
}

/** Curves that cannot be told apart here: the lower one is drawn wider, so that both are seen, and they are named. */
function hidden(series, log) {
  const scaled = (v) => v === null ? null : log ? Math.log(v) : v;
  const values = series.flatMap((s) => s.y.map(scaled)).filter((v) => v !== null);
  const near = NEAR * (Math.max(...values) - Math.min(...values)), told = [];
  series.forEach((low, i) => {
    const over = series.slice(i + 1).find((s) => s.kind === low.kind && s.y.length === low.y.length
      && s.y.filter((v, k) => s.x[k] === low.x[k] && Math.abs(scaled(v) - scaled(low.y[k])) <= near).length >= MOSTLY * s.y.length);
    if (!over) return;
    low.width = (over.width ?? 2) + 4;
    if (!low.unnamed && !over.unnamed) told.push(`${low.name} lies under ${over.name}. `);
  });
  return told.join("");
}

/** The loss by axis, as `headcount results --summary` prints it. */
const summary = (axes) => table(["axis", "value", "runs", "with loss", "smallest", "median", "largest"],
  axes.map((a) => [a.axis, a.value, a.runs, a.finished, a.smallest, a.median, a.largest]), { cards: true, caption: "Test loss of the runs with each value of an axis", most: MOST });

/** Where the outcome of these runs is, where they have none on this page. */
function outcome(found, context) {
  const done = found.finished + found.failed;
  if (found.verdicts.length || !found.runs) return null;
  if (found.study) return h("p", { class: "hint apart" }, done < found.runs ? "No verdict so far. " : "", "What these runs say as a study is on the page Studies: ", h("a", { href: context.link("studies", { folder: found.study }) }, found.study), ".");
  return null;
}

function draw(result, state, found, choose, act, context) {
  const done = found.finished + found.failed, share = found.runs ? 100 * done / found.runs : 0;
  const chosen = new Set(state.curves ? state.curves.split(",") : []);
  const logged = found.curves.filter((c) => /loss|error/.test(c.metric));
  const losses = logged.filter((c) => c.step.length > 1); // one point is no curve
  const drawn = curves(losses), log = losses.every((c) => c.value.every((v) => v === null || v > 0)), under = hidden(drawn.series, log);
  const many = found.lines.length > (innerWidth < 560 ? 2 : FEW), long = Math.max(...losses.flatMap((c) => c.step), 0) >= 1e4;
  if (long) for (const s of drawn.series) s.x = s.x.map((v) => v / 1000);
  const names = [...new Set(found.lines.flatMap((l) => Object.keys(l.final)))].slice(0, 3);
  replace(result, h("div", { class: "card", id: "answer", tabindex: "-1" },
    h("p", { class: "answer" }, h("b", {}, `${done} of ${found.runs} runs`), " are done", [[found.running, "taken by a sweep at work"], [found.waiting, "waiting"], [found.failed, "failed"]].filter(([n]) => n).map(([n, word]) => `, ${n} ${word}`).join(""), ".",
      found.left ? ` At the pace seen here, about ${spoken(found.left / 1000)} left.` : ""),
    h("div", { class: "bar", role: "progressbar", "aria-label": "runs done", "aria-valuenow": Math.round(share), "aria-valuemin": 0, "aria-valuemax": 100 }, h("i", { style: { width: `${share}%` } })),
    h("p", { class: "hint" }, [`${number(found.cpu_seconds)} CPU seconds`, Object.entries(found.outcomes).map(([k, v]) => `${v} ${k}`).join(", "), found.sweeps.length ? `at work: ${found.sweeps.join(", ")}` : "nothing is at work"].filter(Boolean).join("; ") + "."),
    found.sweeps.length ? h("button", { type: "button", class: "quiet spaced", onclick: () => act("stop") }, "Stop")
      : found.waiting ? h("div", { class: "row" }, h("button", { type: "button", onclick: () => act("continue") }, "Continue"),
        h("span", { class: "hint" }, "computes the runs that are waiting; the command that began them also judges and writes the report")) : null,
    found.continue_failed ? h("p", { class: "bad", role: "alert" }, `It could not be continued: ${found.continue_failed}`) : null,
    found.failures.length ? table(["run", "what it is", "why it failed"], found.failures.slice(0, 10).map((f) => [f.id, f.label, f.error]), { caption: "Failed runs", cards: true }) : null),
  losses.length ? h("div", { class: "card" }, figure({ title: "Learning curves", x: { label: long ? "thousand steps" : "step" }, y: { label: "loss", log }, series: drawn.series }),
    h("p", { class: "hint" }, drawn.both ? "Lines: held-out data; dashed: training. " : "", drawn.common ? `All of them: ${drawn.common}. ` : "", under, "Choose others in the table.")) : h("p", { class: "hint apart" }, logged.length ? "These runs logged one step: there is no curve to draw." : "Choose runs in the table to see their learning curves."),
  outcome(found, context),
  found.verdicts.length ? h("div", { class: "card" }, h("h2", {}, "Verdicts so far"), verdictTable(found.verdicts)) : null,
  found.axes.length > 1 && !found.study ? h("div", { class: "card" }, h("h2", {}, "Summary by axis"), summary(found.axes)) : null,
  h("details", { class: "card", open: !many }, h("summary", {}, h("b", {}, `Runs (${found.lines.length})`)), found.left_out ? h("p", { class: "hint" }, `${found.left_out} more are not shown.`) : null,
    !found.lines.length ? h("p", { class: "hint" }, "None is done yet.") : table(["curve", "what it is", "outcome", ...names.map((name) => name.replaceAll("_", " ")), "run"], found.lines.map((line) => [
      h("input", { type: "checkbox", "aria-label": `curve of ${line.label || line.id}`, checked: chosen.has(line.id) || (!chosen.size && found.curves.some((c) => c.id === line.id)), onchange: (e) => {
        const now = chosen.size ? chosen : new Set(found.curves.map((c) => c.id));
        if (e.target.checked) now.add(line.id); else now.delete(line.id);
        choose([...now].slice(0, 12));
      } }), line.label, line.outcome ?? line.status, ...names.map((k) => line.final[k] ?? null),
      line.model ? h("span", {}, line.id, " ", h("a", { href: context.link("model", { folder: line.model }), "aria-label": `open the model of ${line.label || line.id}` }, "open this model")) : line.id]), { caption: "Runs of the store", cards: true, most: MOST })));
}
