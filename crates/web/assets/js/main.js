// What starts it all, and what clicks do. Links and forms work by themselves; here they are made quick.
import { find } from "./dom.js";
import { words } from "./api.js";
import { say, sayFlash } from "./status.js";
import { startSidebar } from "./sidebar.js";
import { startList } from "./list.js";
import { markAllRead, markPassed, startMarks } from "./marks.js";
import { leave, open, startArticle, step } from "./article.js";
import { showHelp } from "./dialogs.js";
import { refresh, showAdd, showFeed, showFolder, showOpml } from "./manage.js";
import { showArrived, startLive } from "./live.js";
import { startBoards } from "./boards.js";
import { startKeys, toggleRead, toggleStar } from "./keys.js";

/** What a button with `data-do` does. @type {Record<string, (button: HTMLElement) => any>} */
const BUTTON_ACTIONS = {
  add: () => showAdd(),
  opml: showOpml,
  help: showHelp,
  feed: (button) => showFeed(Number(button.dataset.id)),
  folder: (button) => showFolder(Number(button.dataset.id)),
  refresh: async (button) => ((await refresh(button)) > 0 ? showArrived() : undefined),
  "mark-all": markAllRead,
  star: toggleStar,
  read: toggleRead,
  next: () => step(1),
  previous: () => step(-1),
};

function startClicks() {
  document.addEventListener("click", (event) => {
    if (event.defaultPrevented || event.button !== 0 || event.ctrlKey || event.metaKey || event.shiftKey || event.altKey) return;
    const target = event.target instanceof Element ? event.target : null;
    const row = target?.closest(".row > a");
    if (row?.parentElement) {
      event.preventDefault();
      return open(Number(row.parentElement.id.slice(1)));
    }
    if (target?.closest(".back")) {
      event.preventDefault();
      return leave();
    }
    const button = target?.closest("[data-do]");
    const action = button instanceof HTMLElement ? BUTTON_ACTIONS[button.dataset.do ?? ""] : undefined;
    if (!action || !(button instanceof HTMLElement)) return;
    event.preventDefault();
    Promise.resolve(action(button)).catch((error) => say(words(error)));
  });
  find("#news")?.addEventListener("click", showArrived);
}

startSidebar();
startList(document.documentElement.hasAttribute("data-scroll") ? markPassed : null);
startArticle();
startMarks();
startClicks();
startKeys();
startBoards();
startLive();
sayFlash();
