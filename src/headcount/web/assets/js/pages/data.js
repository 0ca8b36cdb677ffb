// Your data: drop a file, get its diagnosis.

import { upload } from "../api.js";
import { h, number, replace, table } from "../dom.js";
import { panel } from "../panel.js";
import { figure } from "../plot.js";

export const title = "Your data";
export const defaults = {};
const LARGEST = 32 * 1024 * 1024;

export function show(main, state, context, outer) {
  const parts = panel(), result = h("div", {}), note = h("div", {});
  const input = h("input", { type: "file", accept: ".csv,.npy,.npz,.txt,.jsonl", id: "file", onchange: () => input.files[0] && take(input.files[0]) });
  const zone = h("div", { class: "drop" }, h("p", {}, h("b", {}, "Drop a file here"), " with your sequences: .csv, .npy, .npz, .txt or .jsonl, up to 32 MB."),
    h("label", { for: "file" }, "or choose one: "), input);
  const take = async (file) => {
    replace(result);
    const found = await parts.run(async (signal) => {
      if (file.size > LARGEST) throw new Error(`${file.name} has ${Math.round(file.size / 1048576)} MB; expected at most 32 MB; send a part of it.`);
      return upload(file, signal);
    });
    if (found) draw(result, file.name, found);
  };
  for (const name of ["dragenter", "dragover"]) zone.addEventListener(name, (e) => { e.preventDefault(); zone.classList.add("over"); });
  for (const name of ["dragleave", "drop"]) zone.addEventListener(name, (e) => { e.preventDefault(); zone.classList.remove("over"); });
  zone.addEventListener("drop", (e) => { const file = e.dataTransfer.files[0]; if (file) take(file); });
  const tell = () => {
    if (context.catalogue && !context.catalogue.diagnose) replace(note, h("p", { class: "note" }, "This installation has no diagnosis (headcount.diagnose): a dropped file is checked and then refused."));
  };
  outer.addEventListener("catalogue", tell, { once: true });
  replace(main, h("h1", {}, "What memory do your sequences have?"), h("p", { class: "lead" }, "The file is read on this machine, by the server that you started. Nothing is kept."), note, h("div", { class: "card" }, zone), parts.error, parts.status, result);
  tell();
}

function draw(result, name, found) {
  replace(result, h("div", { class: "card", id: "answer" }, h("h2", {}, name), entries(found, 0)));
}

/** A document as nested definitions; lists of numbers as figures, lists of records as tables. */
function entries(value, depth) {
  if (value === null || typeof value !== "object") return h("span", {}, typeof value === "number" ? number(value) : String(value ?? "–"));
  if (Array.isArray(value)) {
    if (value.length > 4 && value.every((v) => typeof v === "number" || v === null)) return figure({ title: "by index", x: { label: "index" }, y: { label: "value" }, height: 160, series: [{ name: "value", unnamed: true, kind: "stem", color: "var(--c0)", x: value.map((_, i) => i), y: value }] });
    if (value.length && value.every((v) => v && typeof v === "object" && !Array.isArray(v))) {
      const columns = [...new Set(value.flatMap(Object.keys))].filter((c) => value.some((v) => v[c] === null || typeof v[c] !== "object"));
      return table(columns, value.slice(0, 100).map((v) => columns.map((c) => typeof v[c] === "object" && v[c] !== null ? "…" : v[c])), { cards: true, caption: "rows" });
    }
    return h("span", {}, value.map((v) => typeof v === "number" ? number(v) : typeof v === "object" ? JSON.stringify(v) : String(v)).join(", ") || "none");
  }
  if (depth > 4) return h("code", {}, JSON.stringify(value).slice(0, 400));
  return h("dl", {}, Object.entries(value).flatMap(([key, inner]) => [h("dt", {}, h("b", {}, key.replaceAll("_", " "))), h("dd", {}, entries(inner, depth + 1))]));
}
