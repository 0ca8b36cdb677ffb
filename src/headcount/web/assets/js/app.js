// The page: one address per view, kept behind '#', so that a view can be shared and gone back to.

import { isStatic, look, start } from "./api.js";
import { h, replace } from "./dom.js";
import * as data from "./pages/data.js";
import * as heads from "./pages/heads.js";
import * as memory from "./pages/memory.js";
import * as model from "./pages/model.js";
import * as plan from "./pages/plan.js";
import * as runs from "./pages/runs.js";
import * as studies from "./pages/studies.js";

const PAGES = { memory, heads, plan, model, runs, studies, data };
const main = document.getElementById("main"), nav = document.getElementById("nav");
const SEEN = { seen: true }; // marks an address that was shown: gone back to, it keeps its place
const PAUSE = 1000; // ms without a move, after which a slider's next move is another step of the history
let offered = Object.keys(PAGES), catalogue = null, current = null, moving = null, resting = null;

function address(page, state) {
  const kept = Object.entries(state).filter(([k, v]) => v !== "" && v !== null && v !== undefined && String(v) !== String(PAGES[page].defaults[k]));
  const text = new URLSearchParams(kept).toString();
  return `#/${page}${text ? `?${text}` : ""}`;
}

function read() {
  const [path, query] = location.hash.replace(/^#\/?/, "").split("?");
  const page = Object.hasOwn(PAGES, path) ? path : "memory";
  const state = { ...PAGES[page].defaults };
  for (const [k, v] of new URLSearchParams(query ?? "")) if (Object.hasOwn(state, k)) state[k] = v;
  return { page, state };
}

/** What a page may do with the address: go elsewhere, or say what it shows now. */
const context = {
  get catalogue() { return catalogue; },
  go(page, state = {}) { location.hash = address(page, { ...PAGES[page].defaults, ...state }); },
  link(page, state = {}) { return address(page, { ...PAGES[page].defaults, ...state }); },
  // a slider on the move (`done` false) makes one step of the history, however far it goes; let go ("rest")
  // it may be moved on within a moment, as the arrow keys do
  update(state, done = true) {
    const wanted = address(current, state), same = moving === "drag" || (moving === "rest" && done !== true);
    if (wanted !== location.hash) history[same ? "replaceState" : "pushState"](SEEN, "", wanted);
    clearTimeout(resting);
    moving = done === true ? null : done === "rest" ? "rest" : "drag";
    if (moving === "rest") resting = setTimeout(() => { moving = null; }, PAUSE);
  },
};

function show() {
  const { page, state } = read();
  const moved = page !== current;
  moving = null;
  current = page;
  for (const link of nav.querySelectorAll("a")) {
    if (link.dataset.page === page) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${PAGES[page].title} · Headcount explorer`;
  main.dispatchEvent(new Event("leave"));
  const fresh = h("div", {});
  replace(main, fresh);
  try {
    if (offered.includes(page)) PAGES[page].show(fresh, state, context, main);
    else replace(fresh, h("h1", {}, PAGES[page].title), h("p", { class: "note" }, "This page needs the server, and this is a static copy. Run headcount serve, and open the address that it prints."));
  } catch (error) {
    replace(fresh, h("p", { class: "message", role: "alert" }, `This view cannot be shown (${error.message}).`));
    console.error(error);
  }
  if (!history.state?.seen) { // a link was followed
    history.replaceState(SEEN, "");
    scrollTo(0, 0);
  }
  if (moved && document.activeElement !== document.body) main.focus({ preventScroll: true });
}

function theme() {
  const button = document.getElementById("theme"), root = document.documentElement;
  const set = (name) => {
    root.dataset.theme = name;
    button.textContent = name === "dark" ? "Light" : "Dark";
    button.setAttribute("aria-label", `Switch to ${name === "dark" ? "light" : "dark"} colours`);
  };
  const wished = matchMedia("(prefers-color-scheme: dark)");
  let kept = null;
  try { kept = localStorage.getItem("theme"); } catch { /* no storage: the system's wish */ }
  set(kept ?? (wished.matches ? "dark" : "light"));
  wished.addEventListener("change", () => set(wished.matches ? "dark" : "light"));
  button.addEventListener("click", () => {
    set(root.dataset.theme === "dark" ? "light" : "dark");
    try { localStorage.setItem("theme", root.dataset.theme); } catch { /* it lasts for this page */ }
  });
}

theme();
if (await start()) offered = ["memory", "heads", "plan", "model"];
replace(nav, offered.map((page) => h("li", {}, h("a", { href: `#/${page}`, "data-page": page }, PAGES[page].title))));
if (isStatic()) {
  const note = document.getElementById("static-note");
  note.hidden = false;
  note.textContent = "A static copy with precomputed examples. Run headcount serve to ask anything.";
}
document.querySelector(".skip").addEventListener("click", (event) => { event.preventDefault(); main.focus(); });
window.addEventListener("popstate", show);
show();
try {
  catalogue = await look("catalogue");
  document.getElementById("version").textContent = `Version ${catalogue.version}.`;
  main.dispatchEvent(new Event("catalogue"));
} catch (error) { main.prepend(h("p", { class: "message", role: "alert" }, error.message)); }
