// What happens elsewhere, as it happens: a stream of events that say what changed. The browser asks again by itself when
// the connection is lost, and says where it stopped.
import { counted, find } from "./dom.js";
import { ask, toLogin, words } from "./api.js";
import { say, sayWhile } from "./status.js";
import { refreshCounts, showCounts } from "./sidebar.js";
import { bringIn, hasList, listQuery, rowOf } from "./list.js";
import { refreshAllMarks, refreshMarks } from "./marks.js";

const COUNTS_MS = 300;
/** How long a connection may be gone before anything is said: a restart takes as long. */
const LOST_MS = 3_000;
/** A stream that the browser has given up is opened anew. */
const REOPEN_MS = 5_000;

/** Ids that are new to the list, or how many where ids are not told. @type {Set<number>} */
const arrivedIds = new Set();
let arrivedMore = 0;
let countsTimer = 0;
let lostTimer = 0;

function showNews() {
  const button = find("#news");
  const count = arrivedIds.size + arrivedMore;
  if (!button) return;
  button.hidden = count === 0;
  button.textContent = `${count.toLocaleString()} new`;
  button.title = `Show ${counted(count, "new entry", "new entries")} (.)`;
}

/** Shows what has come, where the reader asked for it. */
export async function showArrived() {
  if (arrivedIds.size + arrivedMore === 0) return;
  arrivedIds.clear();
  arrivedMore = 0;
  showNews();
  try {
    await bringIn();
  } catch (error) {
    say(words(error));
  }
}

/** Whether what is new in a feed belongs to this list. @param {number | undefined} feedId */
function isOfList(feedId) {
  const query = new URLSearchParams(listQuery());
  if (query.has("q") || query.has("starred")) return false;
  if (feedId === undefined) return true;
  if (query.has("feedId")) return Number(query.get("feedId")) === feedId;
  if (!query.has("folderId")) return true;
  return find(`.folder[data-folder="${query.get("folderId")}"] [data-feed="${feedId}"]`) !== null;
}

/** @param {{ feedId?: number, ids?: number[], entryIds?: number[], count?: number }} change */
function onEntries(change) {
  refreshCountsSoon();
  if (!hasList() || !isOfList(change.feedId)) return;
  const ids = change.ids ?? change.entryIds ?? [];
  for (const id of ids) if (!rowOf(id)) arrivedIds.add(id);
  arrivedMore += Math.max(0, (change.count ?? ids.length) - ids.length);
  showNews();
}

function refreshCountsSoon() {
  clearTimeout(countsTimer);
  countsTimer = setTimeout(() => refreshCounts().catch(() => {}), COUNTS_MS);
}

/** @param {any} change */
function onCounts(change) {
  if (typeof change.total === "number" && change.byFeed) showCounts({ byFolder: {}, starred: 0, ...change });
  else refreshCountsSoon();
}

/** @param {{ ids?: number[], entryIds?: number[] }} change */
function onMarks(change) {
  refreshCountsSoon();
  const ids = change.ids ?? change.entryIds ?? [];
  const looked = ids.length > 0 ? refreshMarks(ids) : refreshAllMarks();
  looked.catch(() => {});
}

/** What was missed cannot be told: all that is shown is looked at anew. */
function onReset() {
  refreshCountsSoon();
  refreshAllMarks().catch(() => {});
  if (!hasList()) return;
  arrivedMore = 0;
  ask("GET", `/api/entries?${listQuery()}&content=false&limit=50`).then((page) => {
    for (const { id } of page.entries) if (!rowOf(id)) arrivedIds.add(id);
    showNews();
  }, () => {});
}

/** @param {(change: any) => void} react */
function reader(react) {
  return (/** @type {MessageEvent} */ event) => {
    try {
      react(JSON.parse(event.data || "{}"));
    } catch (error) {
      console.warn("an event could not be read", error);
    }
    // Further pages, such as the dashboards, listen too.
    document.dispatchEvent(new CustomEvent("pirssonite-change", { detail: { kind: event.type, data: event.data } }));
  };
}

export function startLive() {
  const stream = new EventSource("/api/events");
  const kinds = { entries: onEntries, counts: onCounts, marks: onMarks, reset: onReset, feed: () => {}, subscription: () => {}, delivery: () => {} };
  for (const [kind, react] of Object.entries(kinds)) stream.addEventListener(kind, reader(react));
  stream.addEventListener("open", () => {
    clearTimeout(lostTimer);
    lostTimer = 0;
    sayWhile(null);
  });
  stream.addEventListener("error", () => {
    if (!lostTimer) lostTimer = setTimeout(() => sayWhile("The connection is lost. Trying again…"), LOST_MS);
    if (stream.readyState === EventSource.CLOSED) reopen();
  });
  addEventListener("pagehide", () => stream.close());
}

/** The server answered something else than a stream: the login has ended, or it is too busy. */
async function reopen() {
  const response = await fetch("/api/counts", { headers: { accept: "application/json" } }).catch(() => null);
  if (response?.status === 401) return toLogin();
  setTimeout(startLive, REOPEN_MS);
}
