// The registry's plain formulas, set as formulas in MathML: rho(s) = e^{-rate s}, x_{t-T1}, prod_{i}.

import { h } from "./dom.js";

const MATHML = "http://www.w3.org/1998/Math/MathML";
const SIGNS = { "<=": "≤", ">=": "≥", "->": "→", "+-": "±", "-": "−", "*": "∗", sum: "∑", prod: "∏", sqrt: "√", inf: "∞" };
const GREEK = { rho: "ρ", beta: "β", psi: "ψ", phi: "φ", sigma: "σ", theta: "θ" };
const TOKEN = /\s+|\d+(?:\.\d+)?|[A-Za-z]+\d?|<=|>=|->|\+-|[^\s]/g;

/** A <span> with the formula; the plain text is its label. Lines break between equations only. */
export function formula(text) {
  return h("span", { class: "formula", role: "math", "aria-label": text },
    equations(text).map((part, i) => [i ? ", " : "", made("math", set(part.match(TOKEN) ?? []))]));
}

/** A sentence of the registry or of a claim: >= and <= as signs. */
export const sentence = (text) => text.replaceAll(">=", "≥").replaceAll("<=", "≤").replaceAll("sum|a|", "∑|a|");

const INSIDE = /([A-Za-z][\^_](?:\{[^}]*\}|\([^)]*\)|-?[\w.]*\w))/;

/** A sentence whose powers and indices are set as formulas; where it points into the docs is left out. */
export const told = (text) => sentence(text).replace(/ \(docs\/[^)]*\)/g, "").split(INSIDE)
  .map((piece, i) => i % 2 ? formula(piece.replace(/\^\(([^)]*)\)/, "^{$1}")) : piece);

const made = (name, children) => {
  const element = document.createElementNS(MATHML, name);
  element.append(...children);
  return element;
};

/** The text cut at commas that stand in no bracket and before an equation. */
function equations(text) {
  const parts = [""];
  let depth = 0;
  for (const [i, sign] of [...text].entries()) {
    if ("([{".includes(sign)) depth++;
    if (")]}".includes(sign)) depth--;
    const cut = sign === "," && depth === 0 && /^, [^,]*(=|~)/.test(text.slice(i));
    if (cut) parts.push(""); else parts[parts.length - 1] += sign;
  }
  return parts.map((part) => part.trim());
}

function set(tokens) {
  const row = [];
  for (let at = 0; at < tokens.length;) {
    const token = tokens[at];
    if ((token === "^" || token === "_") && row.length) {
      const [script, end] = scripted(tokens, at + 1);
      row.push(joined(row.pop(), token, made("mrow", set(script))));
      at = end;
    } else {
      row.push(one(token));
      at++;
    }
  }
  return row;
}

/** What is raised or lowered from here on: a group in braces, or one word with its sign and brackets. */
function scripted(tokens, from) {
  if (tokens[from] === "{") {
    const end = closing(tokens, from, "{", "}");
    return [tokens.slice(from + 1, end), end + 1];
  }
  let end = from + (tokens[from] === "-" ? 1 : 0);
  const bracketed = tokens[end] === "(" ? end : tokens[end] === "min" && tokens[end + 1] === "(" ? end + 1 : -1;
  end = bracketed < 0 ? end + 1 : closing(tokens, bracketed, "(", ")") + 1;
  return [tokens.slice(from, end), end];
}

function closing(tokens, from, open, close) {
  for (let at = from, depth = 0; at < tokens.length; at++) {
    if (tokens[at] === open) depth++;
    if (tokens[at] === close && --depth === 0) return at;
  }
  return tokens.length;
}

/** x_i^2 has both scripts on one letter; a sum carries them like any other. */
function joined(base, mark, script) {
  if (base.localName === (mark === "^" ? "msub" : "msup")) {
    const [letter, before] = base.children;
    return made("msubsup", mark === "^" ? [letter, before, script] : [letter, script, before]);
  }
  return made(mark === "^" ? "msup" : "msub", [base, script]);
}

function one(token) {
  if (/^\s/.test(token)) { const gap = made("mspace", []); gap.setAttribute("width", "0.22em"); return gap; }
  if (/^\d/.test(token)) return made("mn", [token]);
  const counted = token.match(/^([A-Za-z])(\d|M)$/); // t1, TM: a letter with its number
  if (counted) return made("msub", [made("mi", [counted[1]]), made(counted[2] === "M" ? "mi" : "mn", [counted[2]])]);
  if (/^[A-Za-z]/.test(token) && !SIGNS[token]) return made(token.length === 1 || GREEK[token] ? "mi" : "mtext", [GREEK[token] ?? token]);
  if (token === "inf") return made("mi", [SIGNS.inf]);
  const sign = made("mo", [SIGNS[token] ?? token]);
  for (const name of ["stretchy", "largeop", "movablelimits"]) sign.setAttribute(name, "false");
  return sign;
}
