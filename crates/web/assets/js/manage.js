// Feeds and folders: added, named, moved, removed; OPML in and out.
import { find, isWeb, make, counted, whenLong } from "./dom.js";
import { again, ask, words } from "./api.js";
import { goAndSay, say } from "./status.js";
import { folders } from "./sidebar.js";
import { makeChoice, makeField, makeForm, makeProblem, showDialog } from "./dialogs.js";

/** @typedef {import("./api.js").Feed} Feed */

/** Poll intervals to choose from, in seconds; none is as the feed needs it. @type {[string, string][]} */
const INTERVALS = [["", "As often as it publishes"], ["300", "5 minutes"], ["900", "15 minutes"], ["3600", "An hour"], ["21600", "6 hours"], ["86400", "A day"]];
const NEW_FOLDER = "new";
const IMPORT_LOOKS_MAX = 150;
const IMPORT_LOOK_MS = 2_000;
/** Lines of an import that failed which are shown. */
const IMPORT_ERRORS_MAX = 20;

/** @param {number | null} chosen */
function folderFields(chosen) {
  /** @type {[string, string][]} */
  const values = [["", "No folder"], ...folders().map(({ id, name }) => /** @type {[string, string]} */ ([String(id), name])), [NEW_FOLDER, "New folder…"]];
  const choice = makeChoice("Folder", "folder", values, chosen === null ? "" : String(chosen));
  const name = makeField("Name of the new folder", "folderName", { maxlength: 200 });
  name.hidden = true;
  find("select", choice)?.addEventListener("change", (event) => {
    // The focus stays: whoever chooses by typing would go on typing into another field.
    name.hidden = /** @type {HTMLSelectElement} */ (event.target).value !== NEW_FOLDER;
  });
  return [choice, name];
}

/** The folder that a form names, made if it is new. @param {FormData} form @returns {Promise<number | null>} */
async function folderOf(form) {
  const chosen = String(form.get("folder") ?? "");
  if (chosen !== NEW_FOLDER) return chosen ? Number(chosen) : null;
  const name = String(form.get("folderName") ?? "");
  try {
    return (await ask("POST", "/api/folders", { name })).id;
  } catch (error) {
    if (/** @type {any} */ (error).status !== 409) throw error;
    // It is there: by an earlier try, of which only the feed failed.
    /** @type {import("./api.js").Folder[]} */
    const there = await ask("GET", "/api/folders");
    // As the server keeps it: another may have the same letters in another case.
    const kept = name.trim().replace(/\s+/g, " ");
    const same = there.find((folder) => folder.name === kept);
    if (!same) throw error;
    return same.id;
  }
}

export function showAdd(url = "") {
  const form = makeForm(
    async (data) => {
      const folderId = await folderOf(data);
      try {
        const feed = await ask("POST", "/api/feeds", { url: String(data.get("url")), folderId });
        added(feed, folderId);
      } catch (error) {
        const there = /** @type {any} */ (error).body?.feedId;
        if (there) return goAndSay(`/feed/${there}`, "You follow this feed already.");
        throw error;
      }
    },
    makeField("Address of a site or a feed", "url", { value: url, required: true, placeholder: "example.org", inputmode: "url", autocapitalize: "none", autocomplete: "off", spellcheck: "false", maxlength: 4096, autofocus: true }),
    ...folderFields(null),
    make("div", { class: "buttons" }, make("button", { class: "button" }, "Add")),
  );
  const dialog = showDialog("Add a feed", form);

  /** @param {Feed} feed @param {number | null} folderId */
  function added(feed, folderId) {
    const others = (feed.offered ?? []).filter((offer) => offer.url !== feed.url);
    const name = feed.customTitle ?? feed.title ?? feed.url;
    if (others.length === 0) return goAndSay(`/feed/${feed.id}`, `Added ${name}.`);
    dialog.close();
    showOffers(feed, name, others, folderId);
  }
}

/**
 * The page offers several: the best is there, and the others can be had too, or instead.
 * @param {Feed} feed @param {string} name @param {{ url: string, title: string | null }[]} others @param {number | null} folderId
 */
function showOffers(feed, name, others, folderId) {
  const offers = [{ url: feed.url, title: name, id: /** @type {number | null} */ (feed.id) }, ...others.map((offer) => ({ ...offer, id: null }))];
  const problem = makeProblem();
  const items = offers.map((offer) => {
    const button = make("button", { class: "button quiet", type: "button" }, offer.id ? "Remove" : "Add");
    button.addEventListener("click", async () => {
      button.disabled = true;
      problem.element.hidden = true;
      try {
        if (offer.id) await ask("DELETE", `/api/feeds/${offer.id}`);
        const made = offer.id ? null : await ask("POST", "/api/feeds", { url: offer.url, folderId });
        offer.id = made?.id ?? null;
      } catch (error) {
        problem.show(error);
      }
      button.textContent = offer.id ? "Remove" : "Add";
      button.disabled = false;
    });
    return make("li", {}, make("span", { dir: "auto" }, offer.title || offer.url, make("br"), make("span", { class: "note" }, offer.url)), button);
  });
  const done = make("button", { class: "button", type: "button", onclick: () => dialog.close() }, "Done");
  const dialog = showDialog("This page offers several feeds", make("p", {}, `${name} was added. Choose others, or another instead.`), make("ul", { class: "offers" }, ...items), problem.element, make("div", { class: "buttons" }, done));
  dialog.addEventListener("close", () => {
    const kept = offers.filter((offer) => offer.id !== null);
    goAndSay(kept[0] ? `/feed/${kept[0].id}` : "/unread", `Added ${counted(kept.length, "feed", "feeds")}.`);
  });
}

/** @param {number} id */
export async function showFeed(id) {
  /** @type {Feed} */
  const feed = await ask("GET", `/api/feeds/${id}`);
  const own = String(feed.pollInterval ?? "");
  const intervals = INTERVALS.some(([value]) => value === own) ? INTERVALS : [...INTERVALS, /** @type {[string, string]} */ ([own, `${own} seconds`])];
  const push = make("input", { type: "checkbox", name: "push", checked: feed.pushEnabled });
  const form = makeForm(
    async (data) => {
      const interval = String(data.get("interval") ?? "");
      await ask("PATCH", `/api/feeds/${id}`, {
        title: String(data.get("title") ?? "") || null,
        url: String(data.get("url")) === feed.url ? undefined : String(data.get("url")),
        folderId: await folderOf(data),
        pollInterval: interval ? Number(interval) : null,
        pushEnabled: data.has("push"),
      });
      again("Saved.");
    },
    makeField("Name", "title", { value: feed.customTitle ?? "", placeholder: feed.title ?? "", maxlength: 500 }),
    ...folderFields(feed.folderId),
    makeField("Address", "url", { value: feed.url, required: true, maxlength: 4096, spellcheck: "false" }),
    makeChoice("Ask for news", "interval", intervals, own),
    make("label", { class: "check" }, push, "Let its hub push, if it has one"),
    make("div", { class: "buttons" }, make("button", { class: "button" }, "Save"), make("button", { class: "button bad", type: "button", onclick: () => showUnsubscribe(feed) }, "Unsubscribe")),
  );
  showDialog(feed.customTitle ?? feed.title ?? feed.url, ...standing(feed), form);
}

/** How a feed stands, in sentences. @param {Feed} feed */
function standing(feed) {
  const lines = [];
  if (feed.isGone) lines.push(make("p", { class: "problem-text" }, "Its server says that it is gone for good. It is not asked any more."));
  else if (feed.failureCount > 0) {
    const times = feed.failureCount === 1 ? "The last try failed" : `The last ${feed.failureCount} tries failed`;
    lines.push(make("p", { class: "problem-text" }, `${times}: ${feed.lastError ?? "no reason was given"}. The next is on ${whenLong(feed.nextCheckAt)}.`));
  }
  const fetched = feed.lastFetchedAt ? `Last fetched on ${whenLong(feed.lastFetchedAt)}.` : "Not fetched yet.";
  const hub = feed.subscription ? ` Push: ${feed.subscription.state}, by ${new URL(feed.subscription.hubUrl).host}.` : " It has no hub, so it is polled.";
  lines.push(make("p", { class: "note" }, fetched + hub));
  if (feed.siteUrl && isWeb(feed.siteUrl)) lines.push(make("p", {}, make("a", { class: "link", href: feed.siteUrl, target: "_blank", rel: "noopener noreferrer" }, "Open its site")));
  return lines;
}

/** @param {Feed} feed */
function showUnsubscribe(feed) {
  const name = feed.customTitle ?? feed.title ?? feed.url;
  const form = makeForm(
    async () => {
      await ask("DELETE", `/api/feeds/${feed.id}`);
      goAndSay("/unread", `Unsubscribed from ${name}.`);
    },
    make("p", {}, "Its entries go from your lists, starred ones too."),
    make("div", { class: "buttons" }, make("button", { class: "button bad" }, "Unsubscribe")),
  );
  showDialog(`Unsubscribe from ${name}?`, form);
}

/** @param {number} id */
export function showFolder(id) {
  const name = folders().find((folder) => folder.id === id)?.name ?? "";
  const order = folders().map((folder) => folder.id);
  const problem = makeProblem();
  const at = order.indexOf(id);
  const move = (/** @type {number} */ to) => async () => {
    const folderIds = order.toSpliced(at, 1).toSpliced(to, 0, id);
    await ask("PATCH", "/api/folders/reorder", { folderIds }).then(() => again("Moved."), problem.show);
  };
  const form = makeForm(
    async (data) => {
      await ask("PATCH", `/api/folders/${id}`, { name: String(data.get("name")) });
      again("Saved.");
    },
    makeField("Name", "name", { value: name, required: true, maxlength: 200 }),
    make("div", { class: "buttons" },
      make("button", { class: "button" }, "Save"),
      at > 0 && make("button", { class: "button quiet", type: "button", onclick: move(at - 1) }, "Move up"),
      at < order.length - 1 && make("button", { class: "button quiet", type: "button", onclick: move(at + 1) }, "Move down"),
      make("button", { class: "button bad", type: "button", onclick: () => removeFolder(id).catch(problem.show) }, "Remove")),
  );
  showDialog(name, form, problem.element, make("p", { class: "note" }, "Removing a folder keeps its feeds."));
}

/** @param {number} id */
async function removeFolder(id) {
  await ask("DELETE", `/api/folders/${id}`);
  goAndSay("/unread", "The folder was removed. Its feeds are in none now.");
}

export function showOpml() {
  const progress = make("progress", { "aria-label": "Progress", hidden: true });
  const note = make("p", { class: "note", role: "status" });
  const failed = make("ul", { class: "note" });
  const form = makeForm(
    async (data) => {
      const file = data.get("file");
      if (!(file instanceof File) || file.size === 0) throw new Error("Choose a file first.");
      progress.hidden = false;
      progress.removeAttribute("value");
      note.textContent = "Reading the file…";
      try {
        const { imported, skipped, errors } = await ask("POST", "/api/opml/import", file);
        const wrong = errors.length > 0 ? ` ${counted(errors.length, "feed", "feeds")} could not be taken:` : "";
        failed.replaceChildren(...errors.slice(0, IMPORT_ERRORS_MAX).map((/** @type {{ url: string, error: string }} */ one) => make("li", {}, `${one.url}: ${one.error}`)));
        note.textContent = `${counted(imported, "feed is", "feeds are")} new, ${skipped} ${skipped === 1 ? "was" : "were"} there.${wrong}`;
        await follow(note, progress, imported);
      } catch (error) {
        progress.hidden = true;
        note.textContent = "";
        throw error;
      }
    },
    makeField("OPML file of another reader", "file", { type: "file", accept: ".opml,.xml,text/x-opml,text/xml", required: true }),
    make("div", { class: "buttons" }, make("button", { class: "button" }, "Import")),
  );
  const dialog = showDialog("Import and export", form, progress, note, failed, make("p", {}, make("a", { class: "button quiet", href: "/api/opml/export", download: "pirssonite.opml" }, "Export all feeds")));
  dialog.addEventListener("close", () => {
    if (note.textContent) location.reload();
  });
}

/** Shows how many of the imported feeds have been fetched. @param {HTMLElement} note @param {HTMLProgressElement} progress @param {number} imported */
async function follow(note, progress, imported) {
  const said = note.textContent ?? "";
  for (let look = 0; look < IMPORT_LOOKS_MAX && note.isConnected && imported > 0; look += 1) {
    /** @type {Feed[]} */
    const feeds = await ask("GET", "/api/feeds");
    const waiting = feeds.filter((feed) => !feed.lastFetchedAt && feed.failureCount === 0 && !feed.isGone).length;
    progress.max = imported;
    progress.value = Math.max(0, imported - waiting);
    note.textContent = waiting > 0 ? `${said} ${Math.max(0, imported - waiting)} of ${imported} fetched so far; this goes on if you close it.` : `${said} All were asked for.`;
    if (waiting === 0) return;
    await new Promise((done) => setTimeout(done, IMPORT_LOOK_MS));
  }
  progress.value = progress.max;
}

/** Polls what the list shows. @param {HTMLElement | null} button */
export async function refresh(button) {
  const feed = location.pathname.match(/^\/feed\/(\d+)$/)?.[1] ?? new URLSearchParams(location.search).get("in")?.match(/^\/feed\/(\d+)/)?.[1];
  button?.setAttribute("aria-busy", "true");
  try {
    const answer = await ask("POST", feed ? `/api/feeds/${feed}/refresh` : "/api/refresh");
    const summary = answer.summary ?? answer;
    if (feed && answer.lastError && summary.failed > 0) say(`It cannot be fetched: ${answer.lastError}`);
    // Where it is no feed's page, only what is due is polled, and that may be nothing.
    else if (summary.newEntries === 0) say(feed || summary.polled > 0 ? "Nothing new." : "Nothing was due.");
    return summary.newEntries;
  } catch (error) {
    say(words(error));
    return 0;
  } finally {
    button?.removeAttribute("aria-busy");
  }
}
