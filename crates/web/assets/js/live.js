// What happens elsewhere, as it happens: a stream of events that say what changed. The browser asks again by itself when
// the connection is lost, and says where it stopped.
import { counted, find, findAll, make } from "./dom.js";
import { again, ask, toLogin, words } from "./api.js";
import { say, sayWhile } from "./status.js";
import { folders, mergeCounts, refreshCounts, showName } from "./sidebar.js";
import { bringIn, fetchArrived, hasList, isWithin, listQuery, loadedRows, renewRows, rowOf } from "./list.js";
import { onChangedEntries } from "./article.js";
import { refreshAllMarks, refreshMarks } from "./marks.js";

/** @typedef {{ feedId: number | null, feedIds: number[], count: number, ids: number[] }} Change */

/** How long a connection may be gone before anything is said: a restart takes as long. */
const LOST_MS = 3_000;
/** A stream that the browser has given up is opened anew. */
const REOPEN_MS = 5_000;
/** Looks at the list are this far apart. */
const LOOK_MS = 400;
/** Entries that were heard of and are not on the page, at most. */
const HEARD_MAX = 500;
/** Looks at the feeds are this far apart. */
const FEEDS_MS = 3_000;
/** A page that nobody sees lets go of its stream after this, because a browser has few connections to a server. */
const HIDDEN_MS = 60_000;

/** A stream that is silent for so long, three heartbeats, is dead: nobody told of its end. */
const SILENT_MS = 50_000;

/** @type {EventSource | null} */
let stream = null;
/** Where the page stands in the changes; at first, when the server wrote it. */
let lastEventId = find("#page-script")?.dataset.change ?? "";
let lostTimer = 0;
let hiddenTimer = 0;
let silentTimer = 0;

/** Runs at once, and then no more often than every so many milliseconds. @param {() => Promise<void>} run @param {number} ms */
function throttled(run, ms) {
  let timer = 0;
  let isWanted = false;
  const go = () => {
    isWanted = false;
    timer = setTimeout(() => ((timer = 0), isWanted && go()), ms);
    run().catch((error) => console.warn("what changed could not be loaded", error));
  };
  return () => (timer ? (isWanted = true) : go());
}

/** Entries that have come while the page was open and were not told of yet. @type {Set<number>} */
const heard = new Set();

/** Looks for entries that have come: those that were begun, and the last of them that was answered. */
let looksBegun = 0;
let lookAnswered = 0;

/** Says how many entries have come. */
async function lookForArrivals() {
  if (!hasList()) return;
  const look = (looksBegun += 1);
  const { rows, isMore } = await fetchArrived(true);
  // Requests may overtake each other, and what an earlier look has found may have been read since.
  if (look < lookAnswered) return;
  lookAnswered = look;
  const fresh = rows.filter((row) => isWithin(row) || heard.has(row.id));
  // Nothing is being read that could be moved, and nothing is being written that could be lost.
  const isBusy = find("dialog[open], [popover]:popover-open, :is(input, select, textarea):focus") !== null;
  if (loadedRows().length === 0 && fresh.length > 0 && !isBusy) return location.reload();
  const button = find("#news");
  if (!button) return;
  const said = find("#news-said");
  // Once, and not again with each that follows: whoever cannot see the button hears of it.
  if (said && button.hidden !== (fresh.length === 0)) said.textContent = fresh.length > 0 ? "New entries have come." : "";
  button.hidden = fresh.length === 0;
  button.textContent = `${fresh.length}${isMore ? "+" : ""} new`;
  button.title = `Show ${counted(fresh.length, "new entry", "new entries")} (.)`;
}

const lookForArrivalsSoon = throttled(lookForArrivals, LOOK_MS);

/** Shows what has come, where the reader asked for it. */
export async function showArrived() {
  const [button, said] = [find("#news"), find("#news-said")];
  if (button) button.hidden = true;
  if (said) said.textContent = "";
  try {
    const further = (await bringIn()).filter(({ id }) => heard.delete(id)).length;
    if (further > 0) say(`${counted(further, "new entry stands", "new entries stand")} further down, by the date.`);
  } catch (error) {
    say(words(error));
  }
  // A look that was under way has counted what is shown by now.
  if (button && !button.hidden) lookForArrivalsSoon();
}

/** Whether a change of some feeds may concern this list. @param {Change} change */
function isOfList({ feedIds }) {
  const query = new URLSearchParams(listQuery());
  if (query.has("feedId")) return feedIds.length === 0 || feedIds.includes(Number(query.get("feedId")));
  const folder = query.get("folderId");
  if (folder === null) return true;
  return feedIds.length === 0 || feedIds.some((id) => find(`.folder[data-folder="${folder}"] [data-feed="${id}"]`));
}

/** Entries that have changed, or nothing if so many have that none is named. @type {Set<number> | null} */
let changed = new Set();

async function lookAtChanged() {
  const ids = [...(changed ?? [])];
  changed = new Set();
  await Promise.all([renewRows(ids), onChangedEntries(ids)]);
}

const lookAtChangedSoon = throttled(lookAtChanged, LOOK_MS);

/** Entries came or changed. @param {Change} change */
function onEntries(change) {
  const { ids } = change;
  for (const id of ids) if (!rowOf(id)) heard.add(id);
  for (const id of heard) if (heard.size > HEARD_MAX) heard.delete(id);
  changed = ids.length > 0 && changed ? new Set([...changed, ...ids]) : null;
  lookAtChangedSoon();
  if (isOfList(change)) lookForArrivalsSoon();
}

/** @param {Change} change */
function onMarks({ ids }) {
  (ids.length > 0 ? refreshMarks(ids) : refreshAllMarks()).catch(() => {});
  // What has come and was read elsewhere is not new any more where unread entries are listed.
  if (find("#news:not([hidden])")) lookForArrivalsSoon();
}

/** What was missed cannot be told: all that is shown is looked at anew. */
function onReset() {
  refreshCounts().catch(() => {});
  refreshAllMarks().catch(() => {});
  changed = null;
  lookAtChangedSoon();
  lookForArrivalsSoon();
  lookAtFeedsSoon();
}

/** Which feeds and folders there are, what they are called, and which feeds fail. */
async function lookAtFeeds() {
  /** @type {[import("./api.js").Feed[], import("./api.js").Folder[]]} */
  const [feeds, there] = await Promise.all([ask("GET", "/api/feeds"), ask("GET", "/api/folders")]);
  for (const { id, name } of there) showName("folder", id, name);
  const place = (/** @type {string} */ id, /** @type {string} */ folder) => `${id} in ${folder}`;
  const shown = new Set(findAll(".tree [data-feed]").map((item) => place(item.dataset.feed ?? "", item.closest(".folder")?.getAttribute("data-folder") ?? "")));
  const hasSameFolders = there.map(({ id }) => id).join() === folders().map(({ id }) => id).join();
  const isSame = hasSameFolders && feeds.length === shown.size && feeds.every((feed) => shown.has(place(String(feed.id), String(feed.folderId ?? ""))));
  for (const feed of feeds) {
    showName("feed", feed.id, feed.customTitle ?? feed.title ?? "");
    const link = find(`.tree [data-feed="${feed.id}"] > a`);
    const problem = feed.isGone ? "Its server says that it is gone for good." : feed.failureCount > 0 ? (feed.lastError ?? "") : null;
    link?.classList.toggle("failing", problem !== null);
    if (problem === null) link?.removeAttribute("title");
    else link?.setAttribute("title", problem);
  }
  lookAtIcons(feeds);
  if (!isSame && !find("dialog[open]")) say("Your feeds were changed elsewhere.", { label: "Show", run: () => again("") });
}

/** The icons that were last asked for. */
let iconsWanted = "";

/** Shows icons that were found since the page was loaded. @param {import("./api.js").Feed[]} feeds */
function lookAtIcons(feeds) {
  const hasNone = (/** @type {number} */ id) => {
    const item = find(`.tree [data-feed="${id}"]`);
    return item !== null && !getComputedStyle(item).getPropertyValue("--icon");
  };
  const wanted = feeds.filter(({ id, iconId }) => iconId !== null && hasNone(id)).map(({ iconId }) => iconId).join();
  // Some are too large for the sheet.
  if (wanted === "" || wanted === iconsWanted) return;
  iconsWanted = wanted;
  document.body.append(make("link", { rel: "stylesheet", href: `/feed-icons.css?v=${Date.now()}` }));
}

const lookAtFeedsSoon = throttled(lookAtFeeds, FEEDS_MS);

/** @type {Record<string, (change: any) => void>} */
const REACTIONS = {
  entries: onEntries,
  counts: mergeCounts,
  marks: onMarks,
  reset: onReset,
  feed: lookAtFeedsSoon,
  subscription: () => {},
  delivery: () => {},
  heartbeat: () => {},
};

/** @param {MessageEvent} event */
function onEvent(event) {
  watchSilence();
  lastEventId = event.lastEventId || lastEventId;
  try {
    const change = JSON.parse(event.data || "{}");
    REACTIONS[event.type]({ feedIds: [], ids: [], ...change });
    // Further pages, such as the dashboards, listen too.
    document.dispatchEvent(new CustomEvent("pirssonite-change", { detail: { kind: event.type, change } }));
  } catch (error) {
    console.warn("an event could not be read", error);
  }
}

function openStream() {
  if (stream || document.hidden) return;
  stream = new EventSource(`/api/events${lastEventId && `?lastEventId=${encodeURIComponent(lastEventId)}`}`);
  for (const kind of Object.keys(REACTIONS)) stream.addEventListener(kind, onEvent);
  watchSilence();
  stream.addEventListener("open", () => {
    watchSilence();
    clearTimeout(lostTimer);
    lostTimer = 0;
    sayWhile(null);
  });
  stream.addEventListener("error", () => {
    if (!lostTimer) lostTimer = setTimeout(sayLost, LOST_MS);
    if (stream?.readyState === EventSource.CLOSED) reopen();
  });
}

/** Opens the stream anew if nothing is heard for too long. */
function watchSilence() {
  clearTimeout(silentTimer);
  silentTimer = setTimeout(() => (closeStream(), openStream()), SILENT_MS);
}

function sayLost() {
  sayWhile(navigator.onLine ? "The connection is lost. Trying again…" : "There is no network. This goes on when there is one.");
}

function closeStream() {
  clearTimeout(silentTimer);
  stream?.close();
  stream = null;
}

/** The server answered something else than a stream: the login has ended, or it is too busy. */
async function reopen() {
  closeStream();
  const response = await fetch("/api/account", { headers: { accept: "application/json" } }).catch(() => null);
  if (response?.status === 401) return toLogin();
  setTimeout(openStream, REOPEN_MS);
}

export function startLive() {
  openStream();
  // A stream that is cut off without a word is not noticed by itself.
  addEventListener("offline", () => (closeStream(), sayLost()));
  addEventListener("online", openStream);
  addEventListener("pagehide", closeStream);
  addEventListener("pageshow", openStream);
  document.addEventListener("visibilitychange", () => {
    clearTimeout(hiddenTimer);
    if (document.hidden) hiddenTimer = setTimeout(closeStream, HIDDEN_MS);
    else openStream();
  });
}
