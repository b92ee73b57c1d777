// The list: endless by cursor, with a bounded page. Entries are kept in chunks; a chunk far from what is seen keeps its
// height and loses its rows, so ten thousand entries deep there are no more elements than at the top.
import { clone, find, findAll, shorten, whenShort } from "./dom.js";
import { ask, words } from "./api.js";
import { say } from "./status.js";
import { feedName } from "./sidebar.js";

/**
 * @typedef {{ id: number, feedId: number, title: string, at: string, excerpt: string, isRead: boolean, isStarred: boolean,
 *   url?: string | null }} Row
 * @typedef {{ element: HTMLElement, rows: Row[], isFilled: boolean }} Chunk
 */

const CHUNK_ROWS = 50;
/** How far from what is seen rows are kept. */
const KEPT_MARGIN = "3000px 0px";
/** How far before the end the next rows are asked for. */
const LOAD_MARGIN = "2000px 0px";
/** A page that could not be loaded is asked for again after this. */
const RETRY_MS = 5_000;
const TIMES_MS = 60_000;
const TITLE_CHARS = 300;
const FEED_CHARS = 80;

const section = find(".list");
const scroller = find(".list .scroll");
/** @type {Chunk[]} */
const chunks = [];
/** @type {Map<number, Row>} */
const known = new Map();
/** The entry that keys are about. @type {number | null} */
let currentId = null;
/** The page that is being loaded: whoever wants more meanwhile waits for the same. @type {Promise<boolean> | null} */
let loading = null;
let retryTimer = 0;
/** @type {IntersectionObserver | null} */
let keeping = null;
/** @type {((row: Row) => void) | null} */
let onPassed = null;

/** @param {string} name */
function given(name) {
  return section?.dataset[name] ?? "";
}

export const listAddress = () => given("list");
export const listQuery = () => given("query");
/** Whether what is new comes in at the end. All else of the order is decided here too. */
export const isOldestFirst = () => new URLSearchParams(listQuery()).get("order") === "oldest";
export const listTime = () => given("now");
export const listShows = () => given("show");
/** Whether there are entries that are not loaded yet. */
export const hasMore = () => given("next") !== "";
export const hasList = () => section !== null;
export const currentRow = () => (currentId === null ? null : (known.get(currentId) ?? null));
export const rowOf = (/** @type {number} */ id) => known.get(id) ?? null;
export const loadedRows = () => [...known.values()];
export const listScroller = () => scroller;

/** @param {number} id */
export function entryAddress(id) {
  return `/entry/${id}?in=${encodeURIComponent(listAddress()).replaceAll("%2F", "/")}`;
}

/** @param {import("./api.js").Entry} entry @returns {Row} */
export function toRow(entry) {
  const { id, feedId, isRead, isStarred, url } = entry;
  const own = entry.title?.trim();
  const text = entry.excerpt ?? "";
  // What has no title begins with its text.
  const title = shorten(own || text || "Untitled", TITLE_CHARS);
  return { id, feedId, title, at: entry.sortAt, excerpt: own ? text : "", isRead, isStarred, url };
}

/** @param {Row} row */
function makeRow(row) {
  const element = clone("#row");
  element.id = `e${row.id}`;
  element.dataset.feed = String(row.feedId);
  const link = /** @type {HTMLAnchorElement} */ (find("a", element));
  link.href = entryAddress(row.id);
  link.textContent = row.title;
  find("small", element)?.append(shorten(feedName(row.feedId), FEED_CHARS));
  const text = /** @type {HTMLElement} */ (find("p", element));
  if (section?.hasAttribute("data-excerpts")) text.textContent = row.excerpt;
  else text.remove();
  showRow(row, element);
  return element;
}

/** @param {Row} row @param {HTMLElement | null} [element] */
export function showRow(row, element = find(`#e${row.id}`)) {
  if (!element) return;
  element.classList.toggle("unread", !row.isRead);
  element.classList.toggle("starred", row.isStarred);
  element.classList.toggle("current", row.id === currentId);
  find("small", element)?.setAttribute("data-when", whenShort(row.at));
}

/** How long ago it was goes on. */
function showTimes() {
  if (document.hidden) return;
  for (const { rows, isFilled } of chunks) if (isFilled) for (const row of rows) showRow(row);
}

/** @param {HTMLElement} element @returns {Row} */
function readRow(element) {
  return {
    id: Number(element.id.slice(1)),
    feedId: Number(element.dataset.feed),
    title: find("a", element)?.textContent ?? "",
    at: element.dataset.at ?? "",
    excerpt: find("p", element)?.textContent ?? "",
    isRead: !element.classList.contains("unread"),
    isStarred: element.classList.contains("starred"),
  };
}

/** @param {Row[]} rows @param {HTMLElement} element @param {boolean} isFirst */
function addChunk(rows, element, isFirst) {
  /** @type {Chunk} */
  const chunk = { element, rows, isFilled: true };
  if (isFirst) chunks.unshift(chunk);
  else chunks.push(chunk);
  for (const row of rows) known.set(row.id, row);
  keeping?.observe(element);
  if (onPassed) for (const row of element.children) passing?.observe(row);
}

/** @param {Chunk} chunk */
function fill(chunk) {
  if (chunk.isFilled) return;
  chunk.isFilled = true;
  chunk.element.replaceChildren(...chunk.rows.map(makeRow));
  chunk.element.style.height = "";
  if (onPassed) for (const row of chunk.element.children) passing?.observe(row);
}

/** @param {Chunk} chunk */
function empty(chunk) {
  if (!chunk.isFilled || chunk.element.contains(document.activeElement)) return;
  const height = chunk.element.offsetHeight;
  if (height === 0) return;
  chunk.isFilled = false;
  chunk.element.style.height = `${height}px`;
  chunk.element.replaceChildren();
}

/** @param {Row[]} rows @param {boolean} isFirst */
function insertChunk(rows, isFirst) {
  const element = document.createElement("div");
  element.className = "chunk";
  element.setAttribute("role", "none");
  element.append(...rows.map(makeRow));
  const box = find(".rows");
  box?.setAttribute("role", "list");
  if (isFirst) box?.prepend(element);
  else box?.append(element);
  addChunk(rows, element, isFirst);
}

/**
 * A page of the list.
 * @param {string} cursor
 * @param {boolean} [isBrief] without texts
 * @param {string} [since] only what was received since then
 */
export async function fetchPage(cursor, isBrief = false, since = "") {
  const texts = isBrief ? "content=false" : "excerpt=true";
  return ask("GET", `/api/entries?${listQuery()}&${texts}&limit=${CHUNK_ROWS}${cursor ? `&cursor=${cursor}` : ""}${since ? `&receivedSince=${encodeURIComponent(since)}` : ""}`);
}

/** Whether an entry would stand before all that are shown. @param {import("./api.js").Entry} entry */
export function isBeforeFirst({ id, sortAt }) {
  const first = chunks[0]?.rows[0];
  if (!first || isOldestFirst()) return !first;
  return sortAt > first.at || (sortAt === first.at && id > first.id);
}

/** The next entries of the list. @returns {Promise<boolean>} whether there were any */
export function loadMore() {
  const cursor = given("next");
  if (!section || !cursor) return Promise.resolve(false);
  clearTimeout(retryTimer);
  loading ??= loadFrom(section, cursor).finally(() => (loading = null));
  return loading;
}

/** @param {HTMLElement} section @param {string} cursor */
async function loadFrom(section, cursor) {
  let wait = 0;
  try {
    const page = await fetchPage(cursor);
    const rows = page.entries.map(toRow).filter((/** @type {Row} */ row) => !known.has(row.id));
    if (page.nextCursor) section.dataset.next = page.nextCursor;
    else delete section.dataset.next;
    if (rows.length > 0) insertChunk(rows, false);
    showEnd();
    return rows.length > 0;
  } catch (error) {
    wait = RETRY_MS;
    say(words(error));
    return false;
  } finally {
    // What was asked for in the meantime, or a page with nothing on it.
    retryTimer = setTimeout(() => given("next") && isEndNear() && loadMore(), wait);
  }
}

function isEndNear() {
  const end = find(".list .more");
  return scroller && end && scroller.scrollTop + scroller.clientHeight > scroller.scrollHeight - 2 * scroller.clientHeight;
}

function showEnd() {
  const end = find(".list .more");
  if (end) end.textContent = given("next") ? "Loading…" : "That is all.";
}

/** Brings in what has come since, at the top. */
export async function bringIn() {
  if (!section) return;
  if (isOldestFirst() || known.size === 0) return location.reload();
  const page = await fetchPage("");
  const rows = page.entries.filter((/** @type {import("./api.js").Entry} */ entry) => !known.has(entry.id)).map(toRow);
  // More than a page: what is between would be missing.
  if (rows.length === page.entries.length && page.nextCursor) return location.reload();
  if (rows.length > 0) insertChunk(rows, true);
  if (scroller) scroller.scrollTop = 0;
}

/** Makes an entry the current one, and shows where it is. @param {number | null} id @param {boolean} [isFocused] */
export function setCurrent(id, isFocused = false) {
  const before = currentRow();
  currentId = id;
  if (before) showRow(before);
  const row = currentRow();
  if (!row) return;
  const chunk = chunks.find((chunk) => chunk.rows.includes(row));
  if (chunk) fill(chunk);
  showRow(row);
  const element = find(`#e${row.id}`);
  element?.scrollIntoView({ block: "nearest" });
  if (isFocused) find("a", element ?? document)?.focus({ preventScroll: true });
}

/** The entry before or after the current one, loading more if need be. @param {1 | -1} step @returns {Promise<Row | null>} */
export async function neighbour(step) {
  const rows = chunks.flatMap((chunk) => chunk.rows);
  const at = rows.findIndex((row) => row.id === currentId);
  if (at < 0) return rows[0] ?? null;
  const found = rows[at + step];
  if (found || step < 0) return found ?? null;
  return (await loadMore()) ? neighbour(step) : null;
}

/** @type {IntersectionObserver | null} */
let passing = null;

/** Tells of unread rows that were scrolled past. @param {(row: Row) => void} passed */
function watchPassing(passed) {
  onPassed = passed;
  passing = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting, boundingClientRect, rootBounds } of entries) {
      const row = known.get(Number(target.id.slice(1)));
      // A list that is not shown has no height, and nothing was scrolled past in it.
      const isAbove = rootBounds !== null && rootBounds.height > 0 && boundingClientRect.bottom <= rootBounds.top;
      if (!isIntersecting && isAbove && row && !row.isRead) passed(row);
    }
  }, { root: scroller });
}

/** @param {((row: Row) => void) | null} passed what to do with unread rows that were scrolled past */
export function startList(passed) {
  if (!section || !scroller) return;
  if (passed) watchPassing(passed);
  keeping = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      const chunk = chunks.find((chunk) => chunk.element === target);
      if (chunk) (isIntersecting ? fill : empty)(chunk);
    }
  }, { root: scroller, rootMargin: KEPT_MARGIN });
  const first = find(".chunk");
  if (first) addChunk(findAll(".row", first).map(readRow), first, false);
  for (const row of known.values()) showRow(row);
  setInterval(showTimes, TIMES_MS);
  const end = find(".list .more");
  if (!end || !given("next")) return;
  showEnd();
  new IntersectionObserver((entries) => {
    if (entries.some((entry) => entry.isIntersecting)) loadMore();
  }, { root: scroller, rootMargin: LOAD_MARGIN }).observe(end);
}
