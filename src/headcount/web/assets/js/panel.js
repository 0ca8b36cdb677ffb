// What every page has: a status line with a stop button, and a place for one line of error.

import { asker } from "./api.js";
import { h, replace } from "./dom.js";

export function panel() {
  const status = h("p", { class: "busy", role: "status" });
  const error = h("div", { "aria-live": "assertive" });
  const say = (text, stop) => {
    status.classList.toggle("computing", Boolean(stop)); // what stands below it is of an earlier question
    replace(status, text, stop ? h("button", { type: "button", class: "quiet", onclick: stop }, "Stop") : null);
  };
  const complain = (line) => replace(error, line ? h("p", { class: "message", role: "alert" }, plainly(line)) : null);
  const asking = asker(say, complain);
  /** Asks. Where no answer comes, what stands below is of an earlier question: dimmed, and nothing there can be used.
   * A question `aside`, such as a download, leaves the answer as it is. */
  const run = async (work, aside = false) => {
    const earlier = aside ? [] : [...status.nextElementSibling?.children ?? []];
    if (!aside) complain(null); // it was about an earlier question
    return asking(work, () => { for (const part of earlier) part.inert = true; });
  };
  return { status, error, say, complain, run };
}

// a record's names of what the fields of the page are called
const FIELDS = { seed: "sequence number", tol: "largest error allowed", length: "longest sequence" };

/** A refusal without what concerns who writes JSON by hand. */
function plainly(line) {
  const told = line.replace(/^Ask\w+: /, "").replace(/; expected keys [^;]*(; correct these and run again)?$/, "")
    .replace(/(^|, and )(?:build\.)?(seed|tol|length) is /g, (_, before, name) => `${before}${FIELDS[name]} is `);
  const word = /^[a-z]+(?=[,;:]?(\s|$))/.test(told); // a name such as data.csv stays as it is
  return (word ? told[0].toUpperCase() + told.slice(1) : told) + (/[.!?)]$/.test(told) ? "" : ".");
}

/** Calls `work` when nothing has changed for a moment. */
export function soon(work, wait = 80) {
  let timer = null;
  return (...given) => { clearTimeout(timer); timer = setTimeout(() => work(...given), wait); };
}
