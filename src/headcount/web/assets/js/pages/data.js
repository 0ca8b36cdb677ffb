// Your data: drop a file, get its diagnosis.

import { upload } from "../api.js";
import { field, h, number, replace, save, select, table } from "../dom.js";
import { sentence } from "../formula.js";
import { panel } from "../panel.js";
import { figure } from "../plot.js";

export const title = "Your data";
export const defaults = {};
const OTHERS = ["var(--c6)", "var(--c0)", "var(--c3)", "var(--c2)"], NAMED = 12; // colours of channels; lags that are named
const LARGEST = 32 * 1024 * 1024;
let last = null; // the latest diagnosis of this window: to go back to

export function show(main, state, context) {
  const parts = panel(), result = h("div", {});
  const input = h("input", { type: "file", accept: ".csv,.npy,.npz,.txt,.jsonl", id: "file", onchange: () => input.files[0] && take(input.files[0]) });
  const zone = h("div", { class: "drop" }, h("p", {}, h("b", {}, "Drop a file here"), " with your sequences: .csv, .npy, .npz, .txt or .jsonl, up to 32 MB."),
    h("p", {}, h("label", { for: "file" }, "or choose one: "), input),
    h("p", {}, h("button", { type: "button", class: "quiet", id: "example", onclick: () => { column.value = ""; take(example()); } }, "Try an example: a series that depends on 2 and 7 steps back")),
    h("p", { class: "hint" }, "A number per line, or columns with a header; the last column is predicted from its past and the others', or the one named below. A text is read as words."));
  const column = h("input", { type: "text", id: "column", spellcheck: "false", value: last?.column ?? "" });
  const take = async (file) => {
    replace(result);
    const found = await parts.run(async (signal) => {
      if (file.size > LARGEST) throw new Error(`${file.name} has ${Math.round(file.size / 1048576)} MB; expected at most 32 MB; send a part of it.`);
      return upload(file, column.value.trim(), signal);
    });
    input.value = ""; // so that the same file can be chosen again, with another column
    if (!found) return;
    last = { name: file.name, column: column.value.trim(), found, file };
    draw(result, file.name, found, context, asked);
  };
  const asked = (name) => { column.value = name; take(last.file); }; // the same file, another column
  for (const name of ["dragenter", "dragover"]) zone.addEventListener(name, (e) => { e.preventDefault(); zone.classList.add("over"); });
  for (const name of ["dragleave", "drop"]) zone.addEventListener(name, (e) => { e.preventDefault(); zone.classList.remove("over"); });
  zone.addEventListener("drop", (e) => { const file = e.dataTransfer.files[0]; if (file) take(file); });
  replace(main, h("h1", {}, "What memory do your sequences have?"), h("p", { class: "lead" }, "Which earlier values does the next one depend on, and what Transformer does that need? The file is read on this machine, by the server that you started; nothing is kept."), h("div", { class: "card" }, zone, field("Column to predict", column, "Its name in a .csv; empty: the last one. Write it before the file is chosen.")), parts.error, parts.status, result);
  if (last) draw(result, last.name, last.found, context, asked);
}

/** A series whose next value depends on 2 and 7 steps back, the same each time. */
function example() {
  let state = 1;
  const noise = () => { // a sum of uniform numbers: close enough to normal
    let sum = 0;
    for (let i = 0; i < 6; i++) { state = (Math.imul(state, 1664525) + 1013904223) >>> 0; sum += state / 2 ** 32; }
    return sum - 3;
  };
  const x = [];
  for (let t = 0; t < 400; t++) x.push(0.4 * (x[t - 2] ?? 0) - 0.35 * (x[t - 7] ?? 0) + noise());
  return new File([`x\n${x.map((v) => v.toFixed(4)).join("\n")}\n`], "example.csv");
}

const range = (ends) => ends ? `${number(ends[0])} … ${number(ends[1])}` : "–";

/** The columns that the file has: another one asks again. */
function columns(found, asked) {
  if (!found.columns.length) return null;
  const chooser = select(found.columns.map((c) => [c, c]), found.answer, asked);
  return field("Column that is predicted", chooser, "Choose another, and the same file is asked again");
}

function draw(result, name, found, context, asked) {
  const unit = found.method.tokens ? "held-out nats" : "held-out partial R²";
  replace(result, h("div", { class: "card", id: "answer" }, h("h2", {}, name),
    h("p", { class: "answer" }, found.sentence),
    columns(found, asked),
    h("p", { class: "hint" }, found.closing),
    h("details", {}, h("summary", {}, "What it rests on, and the same on the command line"),
      found.advice?.claim ? h("p", {}, h("b", {}, "The advice rests on: "), `${sentence(found.advice.claim.words)}.`) : null,
      h("p", {}, h("code", {}, found.command)),
      found.answer ? h("p", { class: "hint" }, `Without “next:”, ${found.answer} is explained by the other columns alone, at the same place too: another question, with other lags.`) : null),
    h("div", { class: "row" }, h("button", { type: "button", onclick: () => save(new Blob([found.page], { type: "text/html" }), "diagnosis.html") }, "Download this page"),
      found.advice?.target ? [h("a", { href: context.link("plan", { memory: found.advice.target, tol: "0.05" }) }, "Plan this Transformer"),
        h("span", { class: "hint" }, "there, lags count from the last element that is known: one less than here")] : null)),
  pictures(found),
  found.lags.length ? h("div", { class: "card" }, h("h2", {}, "Lags that count"), table(["lag", "channel", unit, "95 % interval", "p (adjusted)", "enters"],
    found.lags.map((l) => [String(l.lag), l.channel, l.effect, range(l.ci), l.p, l.family + (l.partners.length ? ` with lag ${l.partners.join(", ")}` : "")]), { cards: true, caption: "Lags" })) : null,
  found.map.length ? h("div", { class: "card" }, h("h2", {}, "Which lags are read, by what was seen"), table(["level", "value", "lags read", "p (adjusted)"],
    found.map.map((m) => [String(m.level), m.value, m.lags.join(", "), m.p]), { cards: true, caption: "Map" })) : null,
  found.models.length ? h("div", { class: "card" }, h("h2", {}, "Models on held-out rows"), table(["model", "gain", "standard error", "choice"],
    found.models.map((m, i) => [found.model_words[i], m.gain, m.error, m.chosen ? "chosen" : ""]), { cards: true, caption: "Models", best: (k) => found.models[k].chosen })) : null,
  found.notes.length ? h("div", { class: "card" }, h("h2", {}, "Notes"), h("ul", {}, found.notes.map((note) => h("li", {}, note.text)))) : null);
}

function pictures(found) {
  const chosen = new Set(found.lags.map((l) => `${l.channel} ${l.lag}`)), made = [];
  const channels = [...new Set(found.profile.map(([channel]) => channel))], several = channels.length > 1;
  const place = ([channel, lag]) => lag + (several ? (channels.indexOf(channel) - (channels.length - 1) / 2) * 0.5 / channels.length : 0); // side by side
  const stems = (name, color, rows, more) => ({ name, kind: "stem", color, x: rows.map(place), y: rows.map((r) => r[2]), ...more });
  const counts = found.profile.filter(([channel, lag]) => chosen.has(`${channel} ${lag}`)), rest = found.profile.filter((row) => !counts.includes(row));
  const shown = channels.slice(0, OTHERS.length).map((channel, k) => stems(several ? `lag of ${channel}` : "lag", OTHERS[k], rest.filter((r) => r[0] === channel), { size: 2.2 }));
  if (found.profile.length > 1) made.push(figure({ title: "What each lag shows by itself", x: { label: "lag" }, y: { label: "z-score" }, height: 200,
    series: [...shown, // what counts is larger and named: colour is not the only cue
      stems("lag that counts", "var(--c1)", counts, { size: 5, labels: counts.length <= NAMED ? counts.map(([channel, lag]) => several ? `${channel}, lag ${lag}` : `lag ${lag}`) : [] })] }));
  if (found.kernel.length > 1 && !found.method.tokens) {
    const lags = found.kernel.map((r) => r[0]), line = (name, sign) => ({ name, kind: "dot", color: "var(--c6)", width: 1.2, x: lags, y: found.kernel.map((r) => r[1] + sign * 1.96 * r[2]) });
    made.push(figure({ title: "Weights of all lags together", x: { label: "lag" }, y: { label: "weight" }, height: 200,
      series: [{ name: "weight", kind: "stem", color: "var(--c0)", x: lags, y: found.kernel.map((r) => r[1]) }, line("95 % interval", 1), { ...line("95 % interval, low", -1), unnamed: true }] }));
  }
  if (found.decay?.lags.length > 1) made.push(figure({ title: "Two-point mutual information", x: { label: "lag", log: true }, y: { label: "nats", log: true }, height: 200,
    series: [{ name: "nats", unnamed: true, kind: "line", dots: true, color: "var(--c0)", x: found.decay.lags, y: found.decay.nats.map((v) => v > 0 ? v : null) }] }));
  return made.length ? h("div", { class: made.length > 1 ? "two" : "" }, made.map((m) => h("div", { class: "card" }, m))) : null;
}
