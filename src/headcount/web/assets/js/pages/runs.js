// Runs: a store of training runs while it fills.

import { ask, look } from "../api.js";
import { field, h, number, replace, table } from "../dom.js";
import { panel } from "../panel.js";
import { figure } from "../plot.js";
import { verdictTable } from "./studies.js";

export const title = "Runs";
export const defaults = { store: "", curves: "" };
const EVERY = 4000, MOST = 24;
const COLOURS = ["var(--c0)", "var(--c1)", "var(--c2)", "var(--c3)", "var(--c4)", "var(--c5)", "var(--c6)"];

export async function show(main, state, context, outer) {
  const parts = panel(), result = h("div", {});
  let left = false, timer = null;
  outer.addEventListener("leave", () => { left = true; clearTimeout(timer); }, { once: true });
  const chooser = h("select", {}, h("option", { value: "" }, "choose a store …"));
  const again = async () => {
    if (left || !state.store) return;
    const curves = state.curves ? state.curves.split(",").slice(0, 12) : [];
    const found = await parts.run((signal) => ask("runs", { store: state.store, curves }, signal));
    if (left) return;
    if (found) draw(result, state, found, choose, act);
    parts.say(found ? `last looked at ${new Date().toLocaleTimeString()}; looks again every ${EVERY / 1000} s` : "");
    clearTimeout(timer);
    timer = setTimeout(again, EVERY);
  };
  const act = async (word) => {
    parts.complain(null);
    try {
      const done = await ask("sweep", { store: state.store, act: word });
      parts.say(word === "stop" ? `${done.sweeps} sweep${done.sweeps === 1 ? "" : "s"} asked to stop; what is stored stays` : `starting to compute ${done.runs} runs …`);
    } catch (error) { parts.complain(error.message); }
  };
  const choose = (ids) => { state.curves = ids.join(","); context.update(state); again(); };
  chooser.addEventListener("change", () => { state.store = chooser.value; state.curves = ""; context.update(state); again(); });
  replace(main, h("h1", {}, "Training runs"), h("p", { class: "lead" }, "A store of runs (.sqlite) below the opened folder, while a sweep fills it. Progress, learning curves, and the verdicts of the report beside it."),
    h("div", { class: "card" }, field("Store", chooser, "Written by headcount train, sweep and reproduce")), parts.error, parts.status, result);
  try {
    const { stores, root } = await look("found");
    chooser.append(...stores.map((s) => h("option", { value: s }, s)));
    if (!stores.length) replace(result, h("p", { class: "note" }, `No store is below “${root}”. Make one with headcount reproduce --profile smoke -o first, or open another folder with --root.`));
    if (!state.store && stores.length === 1) state.store = stores[0];
    chooser.value = state.store;
  } catch (error) { parts.complain(error.message); }
  again();
}

function draw(result, state, found, choose, act) {
  const done = found.finished + found.failed, share = found.runs ? 100 * done / found.runs : 0;
  const chosen = new Set(state.curves ? state.curves.split(",") : []);
  const open = [...result.querySelectorAll("details[open]")].map((d) => d.dataset.key);
  const losses = found.curves.filter((c) => /loss|error/.test(c.metric));
  const names = [...new Set(found.lines.flatMap((l) => Object.keys(l.final)))].slice(0, 3);
  replace(result, h("div", { class: "card", id: "answer" },
    h("p", { class: "answer" }, h("b", {}, `${done} of ${found.runs} runs`), ` are done; ${found.running} at work, ${found.waiting} waiting, ${found.failed} failed.`),
    h("div", { class: "bar", role: "progressbar", "aria-label": "runs done", "aria-valuenow": Math.round(share), "aria-valuemin": 0, "aria-valuemax": 100 }, h("i", { style: { width: `${share}%` } })),
    h("p", { class: "hint" }, [`${number(found.cpu_seconds)} CPU seconds`, Object.entries(found.outcomes).map(([k, v]) => `${k}: ${v}`).join(", "), found.sweeps.length ? `at work: ${found.sweeps.join(", ")}` : "nothing is at work"].filter(Boolean).join("; ") + "."),
    found.sweeps.length ? h("button", { type: "button", class: "quiet", onclick: () => act("stop") }, "Stop")
      : found.waiting ? h("div", { class: "row" }, h("button", { type: "button", onclick: () => act("continue") }, "Continue"),
        h("span", { class: "hint" }, "computes the runs that are waiting; the command that began them also judges and writes the report")) : null,
    found.failures.length ? table(["run", "what it is", "why it failed"], found.failures.slice(0, 10).map((f) => [f.id, f.label, f.error]), { caption: "Failed runs", cards: true }) : null),
  losses.length ? h("div", { class: "card" }, figure({ title: "Learning curves", x: { label: "step" }, y: { label: "loss", log: losses.every((c) => c.value.every((v) => v === null || v > 0)) },
    series: losses.slice(0, 14).map((c, i) => ({ name: `${c.label || c.id} ${c.metric}`, kind: i < 7 ? "line" : "dash", color: COLOURS[i % 7], x: c.step, y: c.value })) })) : h("p", { class: "hint" }, "Choose runs in the table to see their learning curves."),
  found.verdicts.length ? h("div", { class: "card" }, h("h2", {}, "Verdicts so far"), verdictTable(found.verdicts)) : null,
  h("div", { class: "card" }, h("h2", {}, "Runs"), found.left_out ? h("p", { class: "hint" }, `${found.left_out} more are not shown.`) : null,
    table(["curve", "run", "what it is", "outcome", ...names], found.lines.map((line) => [
      h("input", { type: "checkbox", "aria-label": `curve of ${line.label || line.id}`, checked: chosen.has(line.id), onchange: (e) => {
        if (e.target.checked) chosen.add(line.id); else chosen.delete(line.id);
        choose([...chosen].slice(0, 12));
      } }), line.id, line.label, line.outcome ?? line.status, ...names.map((k) => line.final[k] ?? null)]), { caption: "Runs of the store", cards: true, most: MOST })));
  for (const d of result.querySelectorAll("details")) if (open.includes(d.dataset.key)) d.open = true;
}
