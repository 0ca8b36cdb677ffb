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
  const known = NUMBERS.filter(([name]) => column(name).some((v) => v !== null)); // no title of what no arm has
  const seen = known.flatMap(([name]) => column(name)).filter((v) => v !== null), names = arms.length <= NAMED; // above the highest point there is room for its name
  const words = known.map(([name]) => name).join(", ").replace(/, ([^,]*)$/, " and $1");
  return [h("div", { class: "card", id: "answer" }, h("p", { class: "answer" }, judged ? `${found.verdicts.length} verdicts on the paper's insights: ${judged}.` : "This reproduction judges nothing."),
    h("p", { class: "hint" }, `Profile ${found.profile}. `, judged ? "" : found.caveat), found.verdicts.length ? verdictTable(found.verdicts) : null),
    found.figures.length ? h("div", { class: "card" }, h("h2", {}, "Figures"), h("div", { class: "figures" }, found.figures.map((name) => picture(inside(state.folder, `figures/${name}`), name.replace(/\.svg$/, "").replaceAll("-", " "))))) : null,
    arms.length ? h("div", { class: "card" }, known.length ? figure({ title: `${words[0].toUpperCase()}${words.slice(1)} error of every arm`, x: { label: "row of the table below" }, y: { label: "error", log: true, depth: names ? 4e10 : 1e9, range: [Math.min(...seen) / 1.3, Math.max(...seen) * (names ? 40 : 1.3)] },
      series: known.map(([name, color], i) => ({ name, kind: "points", color, x: place, y: column(name), labels: i === known.length - 1 && names ? arms.map((a) => a.arm) : [] })) }) : null,
    table(["row", "experiment", "arm", "promised", "possible", "learned", "seeds"], arms.map((a, i) => [String(i + 1), `${a.experiment} ${a.variant ?? ""}`, `${a.arm} ${a.cell ?? ""}`, a.promised, a.possible, a.learned, a.seeds === null ? "–" : String(a.seeds)]), { cards: true, caption: "Arms", most: 12 })) : null];
}

const NUMBERS = [["promised", "var(--c3)"], ["possible", "var(--c0)"], ["learned", "var(--c1)"]];
const NAMED = 8; // arms whose names find room beside their points

/** A drawing of the report, in the colours of this page: of two pictures, the one that is not shown is never fetched. */
function picture(name, told) {
  const at = (face) => `api/figure?face=${face}&name=${encodeURIComponent(name)}`;
  const image = (face) => h("a", { class: `on-${face}`, href: at(face), target: "_blank", rel: "noopener" }, h("img", { src: at(face), alt: `Figure: ${told}`, loading: "lazy" }));
  return h("figure", {}, h("div", { class: "scroll whole", tabindex: "0", role: "region", "aria-label": `Drawing: ${told}` }, image("light"), image("dark")),
    h("p", { class: "hint swipe" }, "↔ Wider than this screen: swipe sideways, or use the arrow keys."));
}

/** Variants down, insights across: outcome as colour and sign, the effect as number. */
function robustness(found) {
  const designs = found.alternatives ?? [], cheaper = (insight) => designs.some((d) => insight.startsWith(`${d.alternative}: `));
  const insights = [...new Set(found.map.map((c) => c.insight))].filter((i) => !cheaper(i)), rows = [...new Set(found.map.map((c) => `${c.factor}: ${c.variant}`))];
  const at = new Map(found.map.map((c) => [`${c.insight} ${c.factor}: ${c.variant}`, c]));
  const cell = (insight, row) => {
    const c = at.get(`${insight} ${row}`);
    if (!c) return h("td", {}, "–");
    const idle = c.learned === false && c.outcome === "undecided", [found, tone] = sign(c.outcome), mark = idle ? "○" : found, ends = range(c.interval);
    return h("td", { class: `num tone-${tone}`, title: `${insight}, ${row}: ${c.outcome}${idle ? " as neither model learned the memory" : ""}; effect ${number(c.effect)} (${c.scale}), interval ${ends}, ${c.seeds} seed${c.seeds === 1 ? "" : "s"}` }, `${mark} ${number(c.effect, 2)}`);
  };
  return [h("div", { class: "card", id: "answer" }, sentences(found)),
    h("div", { class: "card" }, h("h2", {}, "Which insights survive which variants"), h("p", { class: "hint" }, "✓ supported, ✗ refuted, ? undecided, ○ undecided as neither model learned the memory. The number is the median effect on the scale of the claim; point at a cell for its interval."),
      h("div", { class: "scroll whole", tabindex: "0", role: "region", "aria-label": "Map of robustness" }, h("table", { class: "map" }, h("caption", {}, "Map of robustness"),
        h("thead", {}, h("tr", {}, h("th", { scope: "col" }, "variant"), insights.map((i) => h("th", { scope: "col", class: "num" }, i)))),
        h("tbody", {}, rows.map((row) => h("tr", {}, h("th", { scope: "row" }, row), insights.map((i) => cell(i, row)))))))),
    designs.length ? h("div", { class: "card" }, h("h2", {}, "Is a cheaper design as good?"), table(["design", "instead of", "as good on", "worse on", "undecided on"],
      designs.map((d) => [d.alternative, d.instead_of, ...["as good", "worse", "undecided"].map((k) => d[k].join(", ") || "–")]), { cards: true, caption: "The paper's cheaper designs" })) : null,
    found.refused.length ? h("details", { class: "card" }, h("summary", {}, `What cannot be trained (${found.refused.length})`), h("ul", {}, found.refused.map((r) => h("li", {}, `${r.insight} with ${r.factor} ${r.variant}: ${r.reason}`)))) : null];
}

const TERMS = ["approximation", "precision", "estimation", "optimisation"];

/** The drawing is the report's own: one content, whoever looks. */
function curve(found, state) {
  const label = found.axis === "n" ? "samples n" : found.axis;
  return [h("div", { class: "card", id: "answer" }, sentences(found)),
    found.figures.length ? h("div", { class: "card" }, h("h2", {}, "Risk and its parts"), h("div", { class: "figures" }, found.figures.map((name) => picture(inside(state.folder, name), "risk and its parts"))),
      h("p", { class: "hint" }, "The report, below, says what each line and band is.")) : null,
    h("div", { class: "card" }, table([label, "risk", "interval", ...TERMS, "largest part", "seeds"], found.curve.map((p) => [p[found.axis], p.risk,
      p.seeds === 1 ? "1 seed" : range(p.interval), ...TERMS.map((name) => p[name]), p.dominant, String(p.seeds)]), { cards: true, caption: "Learning curve" })),
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
