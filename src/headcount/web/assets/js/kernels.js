// Choosing a kernel: presets, the text of the command line, or a curve drawn by hand.

import { about } from "./about.js";
import { h, number, replace, select } from "./dom.js";

export const PRESETS = [
  ["lag:2", "one lag: 2"], ["lag:6", "one lag: 6"], ["lag:20", "one lag: 20"],
  ["exp:0.1", "exponential decay, rate 0.1"], ["power:1.5", "power law, exponent 1.5"],
  ["osc:0.05,0.3", "damped oscillation"], ["mexican-hat:8,3", "Mexican hat at lag 8"],
  ["morlet:10,4,1.5", "Morlet at lag 10"], ["window:6", "moving sum of 6"],
];
const DRAWN = 24;

export const isDrawn = (text) => text.startsWith("[");
export const asKernel = (text) => {
  if (!isDrawn(text)) return text;
  const values = valuesOf(text);
  if (!values) throw new Error(`The kernel “${text.slice(0, 60)}”: expected numbers as [1, 0.5, 0.25]; draw it, or choose another.`);
  return values;
};

/** The numbers of a drawn kernel; null where it is none. */
function valuesOf(text) {
  if (!isDrawn(text)) return null;
  try {
    const values = JSON.parse(text);
    return values.length && values.every(Number.isFinite) ? values : null;
  } catch { return null; }
}

/** A memory text or mapping for the kernel. */
export const asMemory = (text) => isDrawn(text)
  ? { kind: "essential", kernel: { kind: "array", numbers: asKernel(text) } } : `essential:kernel=${text}`;

function startOf(text) {
  return valuesOf(text) ?? Array.from({ length: DRAWN }, (_, s) => Number(Math.exp(-s / 6).toFixed(2)));
}

/** Values by lag, drawn with the pointer or the arrow keys. `onchange(values, done)`. */
export function drawing(values, onchange) {
  const width = 300, height = 150, mid = height / 2, step = width / values.length;
  let lag = 0;
  const svg = h("svg", { class: "draw", viewBox: `0 0 ${width} ${height}`, tabindex: "0", role: "slider",
    "aria-label": "Kernel by lag: left and right choose a lag, up and down change its value",
    "aria-valuemin": "-1", "aria-valuemax": "1" });
  const paint = () => {
    replace(svg, h("line", { class: "axis", x1: 0, x2: width, y1: mid, y2: mid }),
      values.map((v, s) => h("rect", { x: s * step + 1, width: step - 2, y: mid - Math.max(v, 0) * (mid - 6),
        height: Math.max(Math.abs(v) * (mid - 6), 1), fill: s === lag ? "var(--c1)" : "var(--c0)" })));
    svg.setAttribute("aria-valuenow", String(values[lag]));
    svg.setAttribute("aria-valuetext", `lag ${lag}: ${number(values[lag])}`);
  };
  const put = (event) => {
    const box = svg.getBoundingClientRect();
    lag = Math.min(values.length - 1, Math.max(0, Math.floor((event.clientX - box.left) / box.width * values.length)));
    const v = (0.5 - (event.clientY - box.top) / box.height) * 2 * 1.08;
    values[lag] = Math.abs(v) < 0.05 ? 0 : Number(Math.max(-1, Math.min(1, v)).toFixed(2));
    paint();
  };
  let down = false;
  svg.addEventListener("pointerdown", (e) => { down = true; svg.setPointerCapture(e.pointerId); put(e); onchange(values, false); });
  svg.addEventListener("pointermove", (e) => { if (down) { put(e); onchange(values, false); } });
  svg.addEventListener("pointerup", () => { down = false; onchange(values, true); });
  svg.addEventListener("keydown", (e) => {
    const move = { ArrowLeft: -1, ArrowRight: 1 }[e.key], change = { ArrowUp: 0.05, ArrowDown: -0.05 }[e.key];
    if (!move && !change) return;
    e.preventDefault();
    if (move) lag = Math.min(values.length - 1, Math.max(0, lag + move));
    else { values[lag] = Number(Math.max(-1, Math.min(1, values[lag] + change)).toFixed(2)); onchange(values, true); }
    paint();
  });
  paint();
  return svg;
}

/** The chooser. `onchange(text, done)`: the text form, or a JSON list for a drawn kernel. */
export function kernelChooser(text, onchange, context, outer) {
  const box = h("fieldset", { class: "field" });
  const told = about("kernel", () => isDrawn(text) ? "array" : text.split(":")[0], context, outer);
  const build = () => {
    const drawn = isDrawn(text);
    const known = PRESETS.some(([value]) => value === text);
    const options = [...PRESETS, ["typed", "typed below"], ["drawn", "drawn by hand"]];
    const chooser = select(options, drawn ? "drawn" : known ? text : "typed", (value) => {
      if (value === "typed") { box.querySelector("input")?.focus(); return; }
      text = value === "drawn" ? JSON.stringify(startOf(text)) : value;
      build();
      onchange(text, true);
    });
    chooser.setAttribute("aria-label", "Kernel");
    const typed = h("input", { type: "text", value: drawn ? "" : text, "aria-label": "Kernel as text", spellcheck: "false",
      onchange: () => { text = typed.value.trim() || "lag:2"; build(); onchange(text, true); } });
    const draw = drawn ? drawing(startOf(text), (values, done) => { text = JSON.stringify(values); onchange(text, done); }) : null;
    replace(box, h("legend", {}, "Kernel"), chooser, drawn
      ? [h("p", { class: "hint" }, "Draw with the pointer, or use the arrow keys. Lag 0 is on the left."), draw]
      : [h("div", { style: { marginTop: "6px" } }, typed), told.element]);
    told.tell();
  };
  build();
  return box;
}
