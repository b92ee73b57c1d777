// Read and starred: shown at once, told to the server after, and taken back with a message if it refuses.
import { counted, find } from "./dom.js";
import { ask, words } from "./api.js";
import { say } from "./status.js";
import { adjustCounts, refreshCounts } from "./sidebar.js";
import { hasList, listQuery, listShows, listTime, loadedRows, rowOf, showRow } from "./list.js";

/** @typedef {{ isRead?: boolean, isStarred?: boolean }} Patch */

const IDS_MAX = 1_000;
/** Entries that one answer holds, at most. */
const PAGE_MAX = 500;
/** Entries that undoing brings back, at most. */
const UNDO_MAX = 10_000;
const SCROLL_MS = 600;

/** Others who show marks: the article. @type {((id: number, patch: Patch) => void)[]} */
const shown = [];

/** @param {(id: number, patch: Patch) => void} show */
export function onMark(show) {
  shown.push(show);
}

/** Shows marks, wherever they come from. @param {number} id @param {Patch} patch @param {boolean} isCounted */
export function showMark(id, patch, isCounted) {
  const row = rowOf(id);
  if (row) {
    const unread = patch.isRead === undefined || patch.isRead === row.isRead ? 0 : patch.isRead ? -1 : 1;
    const starred = patch.isStarred === undefined || patch.isStarred === row.isStarred ? 0 : patch.isStarred ? 1 : -1;
    Object.assign(row, patch);
    showRow(row);
    if (isCounted && (unread || starred)) adjustCounts(row.feedId, unread, starred);
  }
  for (const show of shown) show(id, patch);
}

/** Marks that the server has not confirmed, by entry. @type {Map<number, Promise<unknown>>} */
const unconfirmed = new Map();

/** Marks entries. @param {number[]} ids @param {Patch} patch */
export async function mark(ids, patch) {
  const before = ids.map((id) => ({ id, isRead: rowOf(id)?.isRead, isStarred: rowOf(id)?.isStarred }));
  for (const id of ids) showMark(id, patch, true);
  // Requests may overtake each other: of two marks of an entry the later has to come later.
  const earlier = ids.map((id) => unconfirmed.get(id)).filter((one) => one !== undefined);
  const sent = earlier.length > 0 ? Promise.allSettled(earlier).then(() => patchAll(ids, patch)) : patchAll(ids, patch);
  for (const id of ids) unconfirmed.set(id, sent);
  try {
    await sent;
  } catch (error) {
    for (const { id, isRead, isStarred } of before) {
      const back = patch.isRead === undefined ? { isStarred: isStarred ?? !patch.isStarred } : { isRead: isRead ?? !patch.isRead };
      showMark(id, back, true);
    }
    say(`Not marked. ${words(error)}`);
  } finally {
    for (const id of ids) if (unconfirmed.get(id) === sent) unconfirmed.delete(id);
  }
}

/** @type {Set<number>} */
const passed = new Set();
let passedTimer = 0;

/** Marks what was scrolled past, some together, also while the scrolling goes on. @param {{ id: number }} row */
export function markPassed(row) {
  passed.add(row.id);
  passedTimer ||= setTimeout(sendPassed, SCROLL_MS);
}

function sendPassed() {
  clearTimeout(passedTimer);
  passedTimer = 0;
  const ids = [...passed];
  passed.clear();
  if (ids.length > 0) mark(ids, { isRead: true });
}

/** Whoever leaves has passed what was passed. A phone may end a page that is not seen any more without a word. */
export function startMarks() {
  addEventListener("pagehide", sendPassed);
  document.addEventListener("visibilitychange", () => document.hidden && sendPassed());
}

/** The unread entries of the list, by id, as many as can be undone. */
async function unreadIds() {
  const query = new URLSearchParams(listQuery());
  query.set("unread", "true");
  query.set("content", "false");
  query.set("limit", "500");
  /** @type {number[]} */
  const ids = [];
  for (;;) {
    const page = await ask("GET", `/api/entries?${query}`);
    ids.push(...page.entries.map((/** @type {{ id: number }} */ entry) => entry.id));
    if (!page.nextCursor || ids.length >= UNDO_MAX) return { ids, isMore: Boolean(page.nextCursor) };
    query.set("cursor", page.nextCursor);
  }
}

/** Marks all of the list as read, with a way back. */
export async function markAllRead() {
  if (!hasList()) return say("Go to a list first.");
  const query = new URLSearchParams(listQuery());
  const isWhole = !query.has("q") && listShows() !== "starred";
  try {
    const { ids, isMore } = await unreadIds();
    if (ids.length === 0) return say("Nothing is unread here.");
    const marked = isWhole ? await markWhole(query) : await patchAll(ids, { isRead: true });
    const isMarked = new Set(ids);
    for (const row of loadedRows()) if (isMarked.has(row.id)) showMark(row.id, { isRead: true }, false);
    await refreshCounts();
    const rest = marked > ids.length ? ` Undo brings ${ids.length.toLocaleString()} of them back.` : !isWhole && isMore ? " There are more." : "";
    say(`Marked ${counted(marked, "entry", "entries")} as read.${rest}`, { label: "Undo", run: () => undo(ids) });
  } catch (error) {
    say(`Not marked. ${words(error)}`);
    refreshCounts().catch(() => {});
  }
}

/** Marks what the list held when it was made, and what is shown of what has come since. @param {URLSearchParams} query */
async function markWhole(query) {
  const numbers = ["feedId", "folderId"].filter((name) => query.has(name)).map((name) => [name, Number(query.get(name))]);
  const { marked } = await ask("POST", "/api/entries/mark-read", { ...Object.fromEntries(numbers), before: listTime() });
  const left = (await unreadIds()).ids.filter(rowOf);
  return marked + (await patchAll(left, { isRead: true }));
}

/** How many were not so before. @param {number[]} ids @param {Patch} patch */
async function patchAll(ids, patch) {
  let changed = 0;
  for (let at = 0; at < ids.length; at += IDS_MAX) {
    const { marked } = await ask("PATCH", "/api/entries", { ids: ids.slice(at, at + IDS_MAX), ...patch });
    changed += marked;
  }
  return changed;
}

/** @param {number[]} ids */
async function undo(ids) {
  try {
    await patchAll(ids, { isRead: false });
    for (const id of ids) showMark(id, { isRead: false }, false);
    await refreshCounts();
    say(`${counted(ids.length, "entry is", "entries are")} unread again.`);
  } catch (error) {
    say(`Not undone. ${words(error)}`);
  }
}

/** The entry that is open, which need not be in the list. */
function openEntry() {
  return Number(find(".panes[data-open] article")?.dataset.id ?? 0);
}

/** The look at marks that is under way. */
let looking = Promise.resolve();

/** Looks at rows anew that somebody else has marked: one look after the other, or the older answer might come last. @param {number[]} ids */
export function refreshMarks(ids) {
  const look = looking.then(() => lookAtMarks(ids));
  looking = look.catch(() => {});
  return look;
}

/** @param {number[]} ids */
async function lookAtMarks(ids) {
  const here = ids.filter((id) => rowOf(id) || id === openEntry());
  await Promise.allSettled(here.map((id) => unconfirmed.get(id)));
  for (let at = 0; at < here.length; at += PAGE_MAX) {
    const page = await ask("GET", `/api/entries?ids=${here.slice(at, at + PAGE_MAX).join(",")}&content=false`);
    for (const { id, isRead, isStarred } of page.entries) {
      // What was marked here meanwhile is newer.
      if (unconfirmed.has(id)) refreshMarks([id]).catch(() => {});
      else showMark(id, { isRead, isStarred }, false);
    }
  }
}

/** Looks at all rows anew that are on the page. */
export async function refreshAllMarks() {
  const ids = new Set(loadedRows().map((row) => row.id));
  const open = openEntry();
  if (open) ids.add(open);
  await refreshMarks([...ids]);
}

