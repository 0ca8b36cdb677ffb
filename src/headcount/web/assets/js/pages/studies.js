// Studies: a report's verdicts, the numbers of its arms, and its figures.

import { ask, look } from "../api.js";
import { field, h, number, replace, table } from "../dom.js";
import { panel } from "../panel.js";
import { figure } from "../plot.js";

export const title = "Studies";
export const defaults = { folder: "" };

export async function show(main, state, context, outer) {
  const parts = panel(), result = h("div", {});
  const chooser = h("select", { onchange: () => { state.folder = chooser.value; context.update(state); follow(state, parts, result); } }, h("option", { value: "" }, "choose a report …"));
  replace(main, h("h1", {}, "Studies"), h("p", { class: "lead" }, "Reports below the opened folder: what was claimed before the runs, what came out, and the numbers of every arm."),
    h("div", { class: "card" }, field("Report", chooser, "A folder written by headcount reproduce")), parts.error, parts.status, result);
  try {
    const { studies, root } = await look("found");
    chooser.append(...studies.map((s) => h("option", { value: s }, s)));
    if (!studies.length) replace(result, h("p", { class: "note" }, `No report is below “${root}”. Make one with headcount reproduce --profile smoke -o first, or open another folder with --root.`));
    chooser.value = state.folder;
  } catch (error) { parts.complain(error.message); }
  if (state.folder) follow(state, parts, result);
}

const SIGN = { supported: ["✓ supported", "good"], refuted: ["✗ refuted", "bad"], undecided: ["? undecided", "open"] };

/** Verdicts as a table: cards on a phone. */
export function verdictTable(verdicts) {
  return table(["insight", "kind", "outcome", "in words"], verdicts.map((v) => {
    const [text, tone] = SIGN[String(v.outcome)] ?? [String(v.outcome ?? "not judged"), "muted"];
    return [v.insight ?? v.key ?? "", v.kind ?? "", h("b", { class: tone }, text), v.sentence ?? v.reason ?? ""];
  }), { cards: true, caption: "Verdicts" });
}

async function follow(state, parts, result) {
  if (!state.folder) return;
  const found = await parts.run((signal) => ask("study", { folder: state.folder }, signal));
  if (!found) return;
  const counts = found.verdicts.reduce((all, v) => ({ ...all, [v.outcome]: (all[v.outcome] ?? 0) + 1 }), {});
  const arms = found.arms.filter((a) => a.learned !== null || a.possible !== null).slice(0, 60);
  const place = arms.map((_, i) => i + 1);
  const column = (name) => arms.map((a) => typeof a[name] === "number" && a[name] > 0 ? a[name] : null);
  replace(result, h("div", { class: "card", id: "answer" }, h("p", { class: "answer" }, `Profile ${found.profile}: `, Object.entries(counts).map(([k, v]) => `${v} ${k}`).join(", ") || "it judges nothing", "."), found.verdicts.length ? verdictTable(found.verdicts) : null),
    arms.length ? h("div", { class: "card" }, figure({ title: "Numbers of every arm", x: { label: "arm (row below)" }, y: { label: "error", log: true }, series: [
      { name: "promised", kind: "points", color: "var(--c3)", x: place, y: column("promised") }, { name: "possible", kind: "points", color: "var(--c0)", x: place, y: column("possible") },
      { name: "learned", kind: "points", color: "var(--c1)", x: place, y: column("learned") }] }),
    table(["row", "experiment", "arm", "promised", "possible", "learned", "seeds"], arms.map((a, i) => [String(i + 1), `${a.experiment} ${a.variant ?? ""}`, `${a.arm} ${a.cell ?? ""}`, a.promised, a.possible, a.learned, a.seeds === null ? "–" : String(a.seeds)]), { cards: true, caption: "Arms" })) : null,
    found.figures.length ? h("div", { class: "card" }, h("h2", {}, "Figures"), h("div", { class: "figures" }, found.figures.map((name) => h("figure", {},
      h("img", { src: `api/figure?name=${encodeURIComponent(`${state.folder === "." ? "" : `${state.folder}/`}figures/${name}`)}`, alt: name.replace(/\.svg$/, "").replaceAll("-", " "), loading: "lazy" }))))) : null);
}
