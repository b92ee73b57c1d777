// The entry that is being read, beside its list. Each has an address; going back closes it.
import { clone, decoded, find, findAll, isWeb, make, playingTime, shorten, whenLong } from "./dom.js";
import { ask, words } from "./api.js";
import { say } from "./status.js";
import { feedName, showTitle } from "./sidebar.js";
import { currentRow, entryAddress, hasMore, listAddress, listScroller, neighbour, rowOf, setCurrent, toRow } from "./list.js";
import { enliven, putEntryHtml } from "./entry_html.js";
import { mark, onMark } from "./marks.js";

/** @typedef {import("./api.js").Entry} Entry */

const FILES_MAX = 20;
const CATEGORIES_MAX = 12;
const HEADING_CHARS = 300;
const PANE_CHARS = 120;
/** What the pane is called while nothing is open in it. */
const PANE = "Entry";
/** Entries that were fetched before they are opened. */
const FETCHED_MAX = 8;

/** @type {Map<number, Promise<Entry>>} */
const fetched = new Map();
let listScroll = 0;
/** The title of the list, for when nothing is open. */
let listTitle = document.title;

/** Whether the pictures of entries are fetched by the server. */
const picturesHere = find("#page-script")?.hasAttribute("data-proxied") ? "?proxied=true" : "";

const panes = find(".panes");
const reading = find(".reading");
const article = () => find("article", reading ?? document);

export function openId() {
  const id = panes?.hasAttribute("data-open") ? article()?.dataset.id : undefined;
  return id ? Number(id) : null;
}

/** @param {number} id */
function fetchEntry(id) {
  const before = fetched.get(id);
  if (before) return before;
  const coming = ask("GET", `/api/entries/${id}${picturesHere}`);
  fetched.set(id, coming);
  coming.catch(() => fetched.delete(id));
  const oldest = fetched.keys().next().value;
  if (fetched.size > FETCHED_MAX && oldest !== undefined) fetched.delete(oldest);
  return coming;
}

/**
 * Opens an entry.
 * @param {number} id
 * @param {"new" | "same" | "kept"} [place] whether it gets a place in the history, that of what is open, or is gone to
 */
export async function open(id, place = "new") {
  if (!panes || !reading) return;
  setCurrent(id);
  if (openId() === id) return;
  if (!panes.hasAttribute("data-open")) listScroll = listScroller()?.scrollTop ?? 0;
  let entry;
  try {
    entry = await fetchEntry(id);
  } catch (error) {
    return say(words(error));
  }
  // Another was asked for meanwhile.
  if (currentRow() && currentRow()?.id !== id) return;
  putArticle(reading, entry);
  panes.toggleAttribute("data-open", true);
  reading.scrollTop = 0;
  if (place === "new") history.pushState({ id }, "", entryAddress(id));
  // Going back from there leads to the list.
  if (place === "same") history.replaceState(history.state?.id ? { id } : history.state, "", entryAddress(id));
  // Anew also where it has the focus: so screen readers tell which entry it is now.
  reading.blur();
  reading.focus({ preventScroll: true });
  if (!(rowOf(id)?.isRead ?? entry.isRead)) mark([id], { isRead: true });
  const after = await neighbour(1);
  if (after) fetchEntry(after.id).catch(() => {});
}

/** @param {HTMLElement} reading @param {Entry} entry */
function putArticle(reading, entry) {
  reading.replaceChildren(fillArticle(entry));
  const title = entry.title?.trim() || "Untitled";
  reading.setAttribute("aria-label", shorten(title, PANE_CHARS));
  document.title = `${shorten(title, HEADING_CHARS)} · piRSSonite`;
}

/** Entries have changed: they are fetched anew, and one that is open can be had as it is now. @param {number[]} ids all, if there are none */
export async function onChangedEntries(ids) {
  for (const id of [...fetched.keys()]) if (ids.length === 0 || ids.includes(id)) fetched.delete(id);
  const id = openId();
  if (id === null || (ids.length > 0 && !ids.includes(id))) return;
  const entry = await fetchEntry(id);
  const open = article();
  if (openId() !== id || !open || whatIsRead(open) === whatIsRead(fillArticle(entry))) return;
  const show = () => {
    if (openId() !== id || !reading) return;
    const hadFocus = open.contains(document.activeElement);
    putArticle(reading, entry);
    if (hadFocus) reading.focus({ preventScroll: true });
  };
  // Nothing is being read or heard there that could be moved.
  if (bodyText(open) === "" && !find("audio, video", open)) show();
  else say("This entry was changed.", { label: "Show", run: show });
}

/** @param {HTMLElement} article */
function bodyText(article) {
  return find(".content", find(".body", article)?.shadowRoot ?? article)?.textContent?.trim() ?? "";
}

/** What somebody sees of an entry, whoever has written it into the page. @param {HTMLElement} article */
function whatIsRead(article) {
  const pictures = findAll("img", find(".body", article)?.shadowRoot ?? article).map((picture) => picture.getAttribute("src"));
  const texts = [".title", ".by"].map((part) => find(part, article)?.textContent);
  return [...texts, bodyText(article), ...pictures].join("\n").replace(/\s+/g, " ");
}

/** Closes it: the list is as it was. */
export function close() {
  if (!panes?.hasAttribute("data-open")) return;
  panes.removeAttribute("data-open");
  reading?.replaceChildren();
  reading?.setAttribute("aria-label", PANE);
  document.title = listTitle;
  showTitle();
  const scroller = listScroller();
  if (scroller && scroller.scrollTop === 0) scroller.scrollTop = listScroll;
  const row = currentRow();
  if (row) setCurrent(row.id, true);
}

/** Back to the list, by the history if it came from there. */
export function leave() {
  if (openId() === null) return;
  if (history.state?.id) history.back();
  else location.assign(listAddress());
}

/** @param {1 | -1} step */
export async function step(step) {
  const row = await neighbour(step);
  // Where more could not be loaded, that was said.
  if (!row && step > 0 && hasMore()) return;
  if (!row) return say(step > 0 ? "That was the last one." : "That was the first one.");
  if (openId() === null) setCurrent(row.id, true);
  else await open(row.id, "same");
}

/** @param {Entry} entry */
function fillArticle(entry) {
  const element = clone("#article");
  const at = entry.publishedAt ?? entry.sortAt;
  const row = rowOf(entry.id) ?? toRow(entry);
  Object.assign(element.dataset, { id: entry.id, feed: entry.feedId, at: entry.sortAt });
  const part = (/** @type {string} */ selector) => /** @type {HTMLElement} */ (find(selector, element));
  const feed = /** @type {HTMLAnchorElement} */ (part(".feed"));
  feed.href = `/feed/${entry.feedId}`;
  feed.textContent = feedName(entry.feedId);
  part("time").setAttribute("datetime", at);
  part("time").textContent = whenLong(at);
  fillTitle(part(".title"), entry);
  part(".by").textContent = entry.author ?? "";
  part(".files").replaceChildren(...entry.enclosures.slice(0, FILES_MAX).map(player).filter((file) => file !== null));
  part(".tags").replaceChildren(...entry.categories.slice(0, CATEGORIES_MAX).map((name) => make("span", { dir: "auto" }, name)));
  const original = part(".original");
  if (entry.url && isWeb(entry.url)) original.setAttribute("href", entry.url);
  else original.removeAttribute("href");
  putEntryHtml(part(".body"), entry.content ?? entry.summary ?? "");
  showButtons(element, row);
  return element;
}

/** @param {HTMLElement} heading @param {Entry} entry */
function fillTitle(heading, entry) {
  const own = entry.title?.trim();
  const text = shorten(own || "Untitled", HEADING_CHARS);
  // Where there is nothing else, it says at least that, and leads to the original.
  heading.classList.toggle("untitled", !own && Boolean((entry.content ?? entry.summary)?.trim() || entry.enclosures.length));
  const link = /** @type {HTMLAnchorElement} */ (find("a", heading));
  if (entry.url && isWeb(entry.url)) {
    link.href = entry.url;
    link.textContent = text;
  } else {
    heading.textContent = text;
  }
}

/** @param {Entry["enclosures"][number]} file */
function player(file) {
  const kind = file.type ?? "";
  if (kind.startsWith("image/") && file.url.startsWith("/pictures/")) return make("figure", {}, make("img", { src: file.url, alt: "", loading: "lazy" }));
  if (!isWeb(file.url)) return null;
  const name = decoded(file.url.split(/[?#]/)[0].split("/").at(-1) || file.url);
  const link = make("a", { href: file.url, target: "_blank", rel: "noopener noreferrer" }, name);
  const caption = make("figcaption", {}, link, " ", file.durationSecs ? playingTime(file.durationSecs) : "");
  if (kind.startsWith("audio/")) return make("figure", {}, make("audio", { controls: true, preload: "none", src: file.url }), caption);
  if (kind.startsWith("video/")) return make("figure", {}, make("video", { controls: true, preload: "none", src: file.url }), caption);
  if (kind.startsWith("image/")) return make("figure", {}, make("img", { src: file.url, alt: "", loading: "lazy" }));
  return make("figure", {}, caption);
}

/** @param {HTMLElement} element @param {{ isRead?: boolean, isStarred?: boolean }} marks */
function showButtons(element, { isRead, isStarred }) {
  if (isStarred !== undefined) find(".star", element)?.setAttribute("aria-pressed", String(isStarred));
  if (isRead !== undefined) find(".unmark", element)?.setAttribute("aria-pressed", String(!isRead));
}

/** What keys and buttons are about: what is open, else the current row. */
export function subject() {
  const open = article();
  const id = openId();
  if (id === null || !open) return currentRow();
  const row = rowOf(id);
  if (row) return row;
  const isPressed = (/** @type {string} */ name) => find(name, open)?.getAttribute("aria-pressed") === "true";
  return { id, isRead: !isPressed(".unmark"), isStarred: isPressed(".star"), url: find(".original", open)?.getAttribute("href") };
}

export async function openOriginal() {
  const row = subject();
  if (!row) return;
  const url = find(".original", article() ?? document)?.getAttribute("href");
  const address = openId() === row.id ? url : (row.url ?? (await fetchEntry(row.id)).url);
  if (address && isWeb(address)) window.open(address, "_blank", "noopener,noreferrer");
  else say("This entry has no page of its own.");
  if (!row.isRead) mark([row.id], { isRead: true });
}

export function startArticle() {
  if (!panes || !reading) return;
  onMark((id, patch) => {
    const open = article();
    if (open && openId() === id) showButtons(open, patch);
  });
  const open = article();
  const id = openId();
  if (open && id !== null) {
    listTitle = `${find("#list-title")?.textContent} · piRSSonite`;
    setCurrent(id);
    const time = find("time", open);
    if (time) time.textContent = whenLong(time.getAttribute("datetime") ?? "");
    const root = find(".body", open)?.shadowRoot;
    if (root) enliven(root);
    if (!open.hasAttribute("data-read")) mark([id], { isRead: true });
  }
  addEventListener("popstate", () => {
    const wanted = location.pathname.match(/^\/entry\/(\d+)$/);
    if (wanted) openAgain(Number(wanted[1]));
    else if (location.pathname + location.search === listAddress()) close();
    else location.reload();
  });
  for (const time of findAll("time[data-long]")) time.textContent = whenLong(time.getAttribute("datetime") ?? "");
}

/** @param {number} id */
function openAgain(id) {
  if (openId() !== id) open(id, "kept");
}
