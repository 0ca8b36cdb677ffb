// Memory: three families side by side on one input sequence.

import { ask, isStatic, stored } from "../api.js";
import { field, h, number, replace } from "../dom.js";
import { formula } from "../formula.js";
import { asMemory, kernelChooser } from "../kernels.js";
import { panel, soon } from "../panel.js";
import { arcs, figure } from "../plot.js";

export const title = "Memory";
export const defaults = { lags: "1+3", kernel: "power:1.5", rule: "2+5+9", seed: "0", at: "" };
const LENGTH = 48, RULER = 32;

export function show(main, state, context, outer) {
  const cards = { fixed: card("Fixed lags", "Every position looks back by the same steps. The answer adds up the tokens that are read."),
    adaptive: card("Adaptive lags", "The token itself says how far to look back: a rule from letters to lags. The answer is the token that is read."),
    essential: card("A decaying kernel", "All of the past counts, most often less and less with the lag. The answer adds up all tokens, each times the kernel at its lag.") };
  const change = (family, more, push = true) => {
    Object.assign(state, more);
    context.update(state, push);
    ask_(family);
  };
  const later = { fixed: soon(() => follow("fixed", state, cards.fixed, context)), adaptive: soon(() => follow("adaptive", state, cards.adaptive, context)),
    essential: soon(() => follow("essential", state, cards.essential, context)) };
  const ask_ = (family) => later[family]();
  replace(cards.fixed.controls, ruler(state, (lags) => change("fixed", { lags })));
  replace(cards.adaptive.controls, rule(state, (value) => change("adaptive", { rule: value })));
  replace(cards.essential.controls, kernelChooser(state.kernel, (kernel, done) => change("essential", { kernel }, done), context, outer));
  const seed = h("input", { type: "number", min: 0, max: 9999, value: state.seed, style: { width: "7em" },
    onchange: () => { Object.assign(state, { seed: seed.value || "0" }); context.update(state); Object.keys(cards).forEach(ask_); } });
  const at = h("input", { type: "range", min: 1, max: LENGTH, value: state.at || LENGTH, id: "at",
    oninput: () => { move(false); }, onchange: () => { move("rest"); } });
  const told = h("output", { for: "at" }, at.value);
  const move = (done) => {
    state.at = Number(at.value) === LENGTH ? "" : at.value;
    told.textContent = at.value;
    context.update(state, done);
    for (const c of Object.values(cards)) c.paint?.(Number(at.value));
  };
  if (isStatic()) {
    seed.disabled = true;
    for (const c of Object.values(cards)) {
      for (const set of c.controls.querySelectorAll("fieldset")) set.disabled = true;
      c.controls.append(h("p", { class: "hint" }, "This static copy holds one example of each family. Run headcount serve to change it."));
    }
  }
  replace(main, h("h1", {}, "What does the memory look like?"),
    h("p", { class: "lead" }, "A memory says which earlier tokens an answer needs. Three families: choose lags on the ruler, write a small rule, or choose and draw a kernel. ",
      "Each card shows an input sequence, what one position reads, and the answer at every position."),
    h("div", { class: "row top" }, field("Sequence number", seed, "another draws another input"),
      h("div", { class: "field grow" }, h("label", { for: "at" }, "Position that reads: ", told), at, h("p", { class: "hint" }, "Move it: all three cards follow."))),
    h("div", { class: "three" }, Object.values(cards).map((c) => c.element)));
  for (const family of Object.keys(cards)) follow(family, state, cards[family], context);
}

function card(name, text) {
  const parts = panel(), controls = h("div", {}), result = h("div", {});
  const element = h("section", { class: "card", "aria-label": name }, h("h2", {}, name), h("p", { class: "hint" }, text),
    h("p", {}), controls, parts.error, parts.status, result);
  return { element, controls, result, parts, paint: null };
}

function ruler(state, onchange) {
  const hint = h("p", { class: "hint", role: "status", hidden: true }, "At least one lag is needed: choose another before this one goes.");
  const chosen = new Set(state.lags.split("+").map(Number).filter((n) => n >= 1));
  const buttons = Array.from({ length: RULER }, (_, i) => {
    const lag = i + 1;
    const button = h("button", { type: "button", "aria-pressed": String(chosen.has(lag)), "aria-label": `lag ${lag}`, onclick: () => {
      const last = chosen.size === 1 && chosen.has(lag);
      hint.hidden = !last;
      if (last) return;
      if (chosen.has(lag)) chosen.delete(lag); else chosen.add(lag);
      button.setAttribute("aria-pressed", String(chosen.has(lag)));
      onchange([...chosen].sort((a, b) => a - b).join("+"));
    } }, String(lag));
    return button;
  });
  return h("fieldset", { class: "field" }, h("legend", {}, "Lags that count"), h("div", { class: "ruler" }, buttons), hint);
}

const LETTERS = ["−1", "0", "+1"], FARTHEST = 24;

function rule(state, onchange) {
  const lags = state.rule.split("+").map(Number), hint = h("p", { class: "note", role: "status", hidden: true });
  return h("fieldset", { class: "field" }, h("legend", {}, "Lag by letter of the current token"),
    h("div", { class: "row" }, LETTERS.map((letter, i) => h("label", { style: { flex: "1" } }, `${letter} →`,
      h("input", { type: "number", min: 0, max: FARTHEST, value: lags[i] ?? 0, "aria-label": `lag for the letter ${letter}`, onchange: (e) => {
        const typed = e.target.value;
        e.target.value = lags[i] = Math.max(0, Math.min(FARTHEST, Math.round(Number(typed)) || 0));
        hint.hidden = e.target.value === typed;
        hint.textContent = `${typed ? `“${typed}”` : "Nothing"} is no whole number from 0 to ${FARTHEST}: ${lags[i]} is used for ${letter}.`;
        onchange(lags.join("+"));
      } })))), hint);
}

/** What is asked, as a part for the server. */
export function memoryOf(family, state) {
  if (family === "fixed") return `fixed:lags=${state.lags}`;
  if (family === "essential") return asMemory(state.kernel);
  return { kind: "adaptive", inputs: "ternary", lag_functions: [{ kind: "table", lags: state.rule.split("+").map(Number), alphabet: [[-1], [0], [1]], allow_zero: true }] };
}

/** Which dot is which token. */
const key = (tokens) => h("ul", { class: "legend", "aria-label": "Tokens" }, tokens.map((v) => h("li", {},
  h("svg", { viewBox: "0 0 26 10", "aria-hidden": "true" }, h("circle", { cx: 13, cy: 5, r: v ? 4.4 : 1.5, fill: v > 0 ? "var(--c0)" : v < 0 ? "var(--c3)" : "var(--c6)" })), `token ${number(v)}`)));

async function follow(family, state, card, context) {
  const found = await card.parts.run(async (signal) => ask("memory", { memory: memoryOf(family, state), length: LENGTH, seed: Number(state.seed) || 0 }, signal));
  if (found) draw(card, family, state, memoryOf(family, state), found, context);
}

function draw(card, family, state, memory, found, context) {
  const n = found.x.length, places = found.x.map((_, i) => i + 1), held = h("div", {}), { result } = card;
  card.paint = (position) => {
    const t = Math.min(position, n) - 1;
    replace(held, arcs("What one position reads", found.x, t + 1, found.reads[t], `position ${t + 1}: y = ${number(found.y[t])}`));
  };
  card.paint(Number(state.at) || n);
  const tokens = [...new Set(found.x)].sort((a, b) => a - b), few = tokens.length <= 3;
  const longest = `lag:${state.lags.split("+").pop()}`, fits = (kernel) => !isStatic() || stored("fit").some((f) => f.kernel === kernel && f.bias === "lin");
  const plain = typeof memory === "string" ? memory : JSON.stringify(memory);
  replace(result, h("p", {}, formula(found.formula)),
    found.kernels.length ? figure({ title: "Kernel", x: { label: "lag" }, y: { label: "ρ" }, height: 150,
      series: found.kernels.map((k, i) => ({ name: `kernel ${i + 1}`, unnamed: true, kind: "stem", color: "var(--c0)", x: k.slice(0, 32).map((_, s) => s), y: k.slice(0, 32) })) }) : null,
    held, few ? key(tokens) : null,
    figure({ title: "Answer at every position", x: { label: "position" }, y: { label: "y" }, height: 150,
      series: [{ name: "y", unnamed: true, kind: "stem", color: "var(--c2)", x: places, y: found.y }] }),
    h("p", { class: "hint" }, `${found.memories} memor${found.memories === 1 ? "y" : "ies"}, longest lag ${found.longest_lag ?? "without end"}. ${found.note}`),
    h("div", { class: "row" },
      family === "essential" && fits(state.kernel) ? h("a", { href: context.link("heads", { kernel: state.kernel }) }, "How many heads?") : null,
      family === "fixed" && fits(longest) ? h("a", { href: context.link("heads", { kernel: longest }) }, "Heads for the longest lag") : null,
      !isStatic() || stored("plan").some((p) => p.memory === plain) ? h("a", { href: context.link("plan", { memory: plain }) }, "Plan a Transformer") : null));
}
