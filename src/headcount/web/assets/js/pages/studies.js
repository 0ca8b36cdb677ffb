// Studies: reproductions, the map of robustness, learning curves, rivals, the zoo and MAD's tasks.

import { ask, look } from "../api.js";
import { field, h, number, replace, table } from "../dom.js";
import { panel } from "../panel.js";
import { figure } from "../plot.js";

export const title = "Studies";
export const defaults = { folder: "" };

export async function show(main, state, context) {
  const parts = panel(), result = h("div", {});
  const chooser = h("select", { onchange: () => { state.folder = chooser.value; context.update(state); follow(state, parts, result); } }, h("option", { value: "" }, "choose a report …"));
  replace(main, h("h1", {}, "Studies"), h("p", { class: "lead" }, "Reports below the opened folder: reproductions of the paper, which insights survive which variants, learning curves, rivals, and the zoo."),
    h("div", { class: "card" }, field("Report", chooser, "A folder written by headcount reproduce, study or zoo")), parts.error, parts.status, result);
  try {
    const { studies, root } = await look("found");
    chooser.append(...studies.map((s) => h("option", { value: s }, s)));
    if (!studies.length) replace(result, h("p", { class: "note" }, `No report is below “${root}”. Make one with headcount reproduce --profile smoke -o first, or open another folder with --root.`));
    if (!state.folder && studies.length) state.folder = studies[0];
    chooser.value = state.folder;
  } catch (error) { parts.complain(error.message); }
  if (state.folder) follow(state, parts, result);
}

const inside = (folder, name) => folder === "." ? name : `${folder}/${name}`;
const SIGN = { supported: ["✓", "good"], refuted: ["✗", "bad"], undecided: ["?", "open"] };
const range = (ends) => ends ? `${ends[0] === null ? "−∞" : number(ends[0])} … ${ends[1] === null ? "∞" : number(ends[1])}` : "–";
const sign = (outcome) => SIGN[String(outcome)] ?? ["", "muted"];

/** Verdicts as a table: cards on a phone. */
export function verdictTable(verdicts) {
  return table(["insight", "kind", "outcome", "effect", "seeds", "in words"], verdicts.map((v) => {
    const [mark, tone] = sign(v.outcome);
    return [v.insight ?? "", v.kind ?? "", h("b", { class: tone }, `${mark} ${v.outcome ?? "not judged"}`.trim()), v.effect ?? null, v.seeds ? String(v.seeds) : "–", v.sentence ?? ""];
  }), { cards: true, caption: "Verdicts" });
}

const DRAWN = { reproduction, robustness, "finite-sample": curve, rivals: squares, zoo: squares, mad: predictions };

async function follow(state, parts, result) {
  if (!state.folder) { replace(result); return; }
  const found = await parts.run((signal) => ask("study", { folder: state.folder }, signal));
  if (found) replace(result, DRAWN[found.kind](found, state), found.report ? h("p", {}, h("a", { href: `api/report?name=${encodeURIComponent(inside(state.folder, "report.html"))}`, target: "_blank", rel: "noopener" }, "Open the whole report"), h("span", { class: "hint" }, ` (${inside(state.folder, "report.html")})`)) : null);
}

const FIRST = 3; // sentences that stand open
const sentences = (found) => [found.caveat ? h("p", { class: "hint", role: "note" }, h("b", {}, "No verdict. "), found.caveat) : null,
  found.sentences.slice(0, FIRST).map((s, i) => h("p", { class: i ? "" : "answer" }, s)),
  found.sentences.length > FIRST ? h("details", {}, h("summary", {}, `More of the answer (${found.sentences.length - FIRST})`), h("ul", {}, found.sentences.slice(FIRST).map((s) => h("li", {}, s)))) : null];

function reproduction(found, state) {
  const counts = found.verdicts.reduce((all, v) => ({ ...all, [v.outcome]: (all[v.outcome] ?? 0) + 1 }), {});
  const judged = Object.entries(counts).map(([k, v]) => `${v} ${k}`).join(", ");
  const arms = found.arms.filter((a) => a.learned !== null || a.possible !== null).slice(0, 60);
  const place = arms.map((_, i) => i + 1);
  const column = (name) => arms.map((a) => typeof a[name] === "number" && a[name] > 0 ? a[name] : null);
  return [h("div", { class: "card", id: "answer" }, h("p", { class: "answer" }, judged ? `${found.verdicts.length} verdicts on the paper's insights: ${judged}.` : "This reproduction judges nothing."),
    h("p", { class: "hint" }, `Profile ${found.profile}. `, judged ? "" : "Its runs are too short and too few for a verdict; headcount reproduce --profile laptop has enough (under an hour)."), found.verdicts.length ? verdictTable(found.verdicts) : null),
    found.figures.length ? h("div", { class: "card" }, h("h2", {}, "Figures"), h("div", { class: "figures" }, found.figures.map((name) => h("figure", {},
      h("a", { href: picture(state.folder, name), target: "_blank", rel: "noopener" }, h("img", { src: picture(state.folder, name), alt: `Figure: ${name.replace(/\.svg$/, "").replaceAll("-", " ")}`, loading: "lazy" })))))) : null,
    arms.length ? h("div", { class: "card" }, figure({ title: "Promised, possible and learned error of every arm", x: { label: "arm (row of the table below)" }, y: { label: "error", log: true, depth: 1e9 }, series: [
      { name: "promised", kind: "points", color: "var(--c3)", x: place, y: column("promised") }, { name: "possible", kind: "points", color: "var(--c0)", x: place, y: column("possible") },
      { name: "learned", kind: "points", color: "var(--c1)", x: place, y: column("learned") }] }),
    table(["row", "experiment", "arm", "promised", "possible", "learned", "seeds"], arms.map((a, i) => [String(i + 1), `${a.experiment} ${a.variant ?? ""}`, `${a.arm} ${a.cell ?? ""}`, a.promised, a.possible, a.learned, a.seeds === null ? "–" : String(a.seeds)]), { cards: true, caption: "Arms", most: 12 })) : null];
}

const picture = (folder, name) => `api/figure?name=${encodeURIComponent(inside(folder, `figures/${name}`))}`;

/** Variants down, insights across: outcome as colour and sign, the effect as number. */
function robustness(found) {
  const designs = found.alternatives ?? [], cheaper = (insight) => designs.some((d) => insight.startsWith(`${d.alternative}: `));
  const insights = [...new Set(found.map.map((c) => c.insight))].filter((i) => !cheaper(i)), rows = [...new Set(found.map.map((c) => `${c.factor}: ${c.variant}`))];
  const at = new Map(found.map.map((c) => [`${c.insight} ${c.factor}: ${c.variant}`, c]));
  const cell = (insight, row) => {
    const c = at.get(`${insight} ${row}`);
    if (!c) return h("td", {}, "–");
    const [mark, tone] = sign(c.outcome), ends = range(c.interval);
    return h("td", { class: `num tone-${tone}`, title: `${insight}, ${row}: ${c.outcome}; effect ${number(c.effect)} (${c.scale}), interval ${ends}, ${c.seeds} seed${c.seeds === 1 ? "" : "s"}` }, `${mark} ${number(c.effect, 2)}`);
  };
  return [h("div", { class: "card", id: "answer" }, sentences(found)),
    h("div", { class: "card" }, h("h2", {}, "Which insights survive which variants"), h("p", { class: "hint" }, "✓ supported, ✗ refuted, ? undecided. The number is the median effect on the scale of the claim; point at a cell for its interval."),
      h("div", { class: "scroll whole", tabindex: "0", role: "region", "aria-label": "Map of robustness" }, h("table", { class: "map" }, h("caption", {}, "Map of robustness"),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "variant"), insights.map((i) => h("th", { scope: "col", class: "num" }, i)))),
        h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, row), insights.map((i) => cell(i, row)))))))),
    designs.length ? h("div", { class: "card" }, h("h2", {}, "Is a cheaper design as good?"), table(["design", "instead of", "as good on", "worse on", "undecided on"],
      designs.map((d) => [d.alternative, d.instead_of, ...["as good", "worse", "undecided"].map((k) => d[k].join(", ") || "–")]), { cards: true, caption: "The paper's cheaper designs" })) : null,
    found.refused.length ? h("details", { class: "card" }, h("summary", {}, `What cannot be trained (${found.refused.length})`), h("ul", {}, found.refused.map((r) => h("li", {}, `${r.insight} with ${r.factor} ${r.variant}: ${r.reason}`)))) : null];
}

const FAINT = 1e-7; // a part below this share of the trivial risk stands in the table only
const TERMS = [["approximation", "var(--c0)"], ["precision", "var(--c3)"], ["estimation", "var(--c2)"], ["optimisation", "var(--c1)"]];

function curve(found) {
  const at = found.curve.map((p) => p[found.axis] ?? null), column = (name) => found.curve.map((p) => p[name] > 0 ? p[name] : null);
  const label = found.axis === "n" ? "samples n" : found.axis;
  return [h("div", { class: "card", id: "answer" }, sentences(found)),
    found.curve.length > 1 ? h("div", { class: "card" }, figure({ title: "Learning curve: risk and its parts", x: { label, log: true }, y: { label: "excess risk", log: true }, height: 280, series: [
      { name: "risk", kind: "line", dots: true, color: "var(--ink)", width: 2.6, x: at, y: column("risk") },
      ...TERMS.map(([name, color]) => ({ name, kind: "dash", dots: true, color, x: at, y: column(name) })).filter((s) => s.y.some((v) => v > FAINT * found.trivial)),
      { name: "best constant answer", kind: "dot", color: "var(--c6)", x: [at[0], at[at.length - 1]], y: [found.trivial, found.trivial] }] })) : null,
    h("div", { class: "card" }, table([label, "risk", "interval", ...TERMS.map(([name]) => name), "largest part", "seeds"], found.curve.map((p) => [p[found.axis], p.risk,
      p.seeds === 1 ? "1 seed" : range(p.interval), ...TERMS.map(([name]) => p[name]), p.dominant, String(p.seeds)]), { cards: true, caption: "Learning curve" })),
    found.notes.length ? h("ul", {}, found.notes.map((n) => h("li", {}, n))) : null];
}

/** Was a memory reached? Runs that are too few judge nothing: no sign and no colour of a verdict. */
const reached = (is, caveat) => caveat ? h("span", { class: "muted" }, is ? "yes, not judged" : "not judged") : h("b", { class: is ? "good" : "bad" }, is ? "✓ yes" : "✗ no");

/** Rivals and the zoo: what each model leaves of each memory. */
function squares(found) {
  const told = (r) => r.refused ? r.refused : r.accuracy === null ? `${number(r.learned, 2)} left` : `${Math.round(100 * r.accuracy)} % right`;
  return [h("div", { class: "card", id: "answer" }, sentences(found)),
    h("div", { class: "card" }, table(["memory", "family", "model", "outcome", "reached", "smallest Transformer known", "parameters"], found.rows.map((r) => [r.memory, r.family, r.model ?? found.model, told(r),
      reached(r.reached, found.caveat), r.minimum ? `${r.minimum.layers} layer${r.minimum.layers === 1 ? "" : "s"}, ${r.minimum.parameters} parameters` : "–", r.parameters]), { cards: true, caption: "Models on memories" }))];
}

/** MAD's tasks: the predicted smallest model, and the same with a part less. */
function predictions(found) {
  const right = (share) => share === null ? "–" : `${Math.round(100 * share)} %`;
  return [h("div", { class: "card", id: "answer" }, sentences(found)),
    h("div", { class: "card" }, table(["task", "predicted", "right", "without", "right then", "prediction", "seeds"], found.rows.map((r) => [r.memory,
      `${r.minimum.layers} layer${r.minimum.layers === 1 ? "" : "s"} ${r.minimum.dot ? "with" : "without"} dot products`, right(r.learned), r.less ?? "–", right(r.lesser), r.outcome, String(r.seeds)]), { cards: true, caption: "MAD's tasks" }))];
}
