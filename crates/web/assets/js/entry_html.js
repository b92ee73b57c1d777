// The one place where a text becomes HTML: an entry's, which the server has sanitised, in a shadow root of its own. The
// policy of the page lets no other do it.
import { decoded, find, make } from "./dom.js";

const script = /** @type {HTMLElement} */ (find("#page-script"));
const entryCss = script.dataset.entryCss ?? "";
const playerHosts = new Set((script.dataset.players ?? "").split(" "));

const trusted = /** @type {any} */ (globalThis).trustedTypes?.createPolicy("pirssonite-entry", {
  createHTML: (/** @type {string} */ html) => html,
});

/** Elements that no entry may have, whatever the server let through. */
const NEVER = "script, style, iframe, object, embed, form, input, button, link, meta, base, template, svg";

/**
 * Puts an entry's HTML into its box.
 * @param {HTMLElement} box
 * @param {string} html
 */
export function putEntryHtml(box, html) {
  const template = document.createElement("template");
  template.innerHTML = trusted ? trusted.createHTML(html) : html;
  for (const element of template.content.querySelectorAll(NEVER)) element.remove();
  for (const element of template.content.querySelectorAll("*")) guard(element);
  const style = make("link", { rel: "stylesheet", href: entryCss });
  const content = make("div", { class: "content", dir: "auto" });
  content.append(template.content);
  // Not shown before it looks as it should; a style that does not come is no reason to show nothing.
  content.hidden = true;
  const show = () => {
    content.hidden = false;
    for (const scroller of content.querySelectorAll(SCROLLERS)) reach(scroller);
  };
  style.addEventListener("load", show);
  style.addEventListener("error", show);
  setTimeout(show, 500);
  const root = box.shadowRoot ?? box.attachShadow({ mode: "open" });
  root.replaceChildren(style, content);
  enliven(root);
}

/** @param {Element} element */
function guard(element) {
  for (const { name } of [...element.attributes]) if (/^on|^style$/i.test(name)) element.removeAttribute(name);
  if (element instanceof HTMLAnchorElement && element.hasAttribute("href")) {
    element.target = "_blank";
    element.rel = "noopener noreferrer";
  } else if (element instanceof HTMLImageElement) {
    element.loading = "lazy";
    element.decoding = "async";
    if (!element.hasAttribute("alt")) element.alt = "Picture";
  } else if (element instanceof HTMLMediaElement) {
    element.preload = "none";
    element.controls = true;
    element.autoplay = false;
  }
}

/** Elements that scroll by themselves where they are too wide. */
const SCROLLERS = "pre, table, math";

const scrollers = new ResizeObserver((sizes) => {
  for (const { target } of sizes) reach(target.closest(SCROLLERS));
});

/** What is wider than its room gets a place in the order of the Tab key, so that arrow keys can scroll it. @param {Element | null} scroller */
function reach(scroller) {
  if (!scroller) return;
  // One pixel is what rounding leaves.
  const isWide = scroller.scrollWidth > scroller.clientWidth + 1 || scroller.scrollHeight > scroller.clientHeight + 1;
  if (isWide) scroller.setAttribute("tabindex", "0");
  else scroller.removeAttribute("tabindex");
}

/**
 * What only a script can do in an entry: footnotes, players that are asked for, and scrolling by keyboard.
 * @param {ShadowRoot} root
 */
export function enliven(root) {
  // Twice for the same root would play twice.
  if (root.host.hasAttribute("data-live")) return;
  root.host.setAttribute("data-live", "");
  for (const scroller of root.querySelectorAll(SCROLLERS)) {
    scrollers.observe(scroller);
    // A picture in it that comes later makes what it holds wider, not itself.
    if (scroller.firstElementChild) scrollers.observe(scroller.firstElementChild);
  }
  root.addEventListener("click", (event) => {
    const link = event.target instanceof Element ? event.target.closest("a") : null;
    if (!link || !(event instanceof MouseEvent) || event.ctrlKey || event.metaKey || event.shiftKey) return;
    const player = link.dataset.player;
    if (player && playerHosts.has(new URL(player, location.href).host)) {
      event.preventDefault();
      link.replaceWith(frame(player, link.textContent ?? ""));
      return;
    }
    const place = link.getAttribute("href")?.match(/^#(.+)/)?.[1];
    const target = place ? root.getElementById(decoded(place)) : null;
    if (target) {
      event.preventDefault();
      target.scrollIntoView({ block: "center" });
    }
  });
}

/** @param {string} address @param {string} title */
function frame(address, title) {
  return make("iframe", {
    src: address,
    title: title.trim() || "Player",
    sandbox: "allow-scripts allow-same-origin allow-presentation allow-popups",
    allow: "fullscreen; encrypted-media; picture-in-picture",
    // Some players refuse to play for a page that does not say where it is; they learn its host and no more.
    referrerpolicy: "strict-origin",
  });
}
