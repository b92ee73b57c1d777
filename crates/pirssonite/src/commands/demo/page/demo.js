// The control page: shows what the demo's publisher, hub and receiver have done, as it happens. Every text is set as text,
// never as markup.

const PAUSE_MS = 500;
const LINES_MAX = 12;

const $ = (id) => document.getElementById(id);

/** An element with a text, a class and children. */
function make(name, text = "", className = "", children = []) {
  const element = document.createElement(name);
  element.textContent = text;
  if (className) element.className = className;
  element.append(...children);
  return element;
}

function time(at) {
  const element = make("time", new Date(at).toLocaleTimeString());
  element.dateTime = at;
  return element;
}

function link(url, text) {
  const element = make("a", text);
  element.href = url;
  element.dir = "auto";
  return element;
}

/** Shows the button of one of two actions. */
function offer(shown, other) {
  document.querySelector(`form[action="/control/${shown}"]`).hidden = false;
  document.querySelector(`form[action="/control/${other}"]`).hidden = true;
}

function say(id, text, isBad) {
  const element = $(id);
  if (element.textContent !== text) element.textContent = text;
  element.classList.toggle("bad", isBad);
}

function publishedLine(post) {
  const how = post.hasHub ? "told to the hub" : "waits for a poll";
  return make("li", "", "", [link(post.url, post.title || "(no title)"), make("div", "", "soft", [make("bdi", post.feed), `, ${how}, `, time(post.at)])]);
}

function receiptLine(receipt) {
  const verdict = receipt.isSignatureGood ? "signature verified" : "WRONG SIGNATURE";
  const what = receipt.title || receipt.feed || "";
  const head = make("div", "", "", [make("code", receipt.eventType), " ", receipt.url ? link(receipt.url, what || "(no title)") : make("bdi", what)]);
  const foot = make("div", "", "soft", [`attempt ${receipt.attempt}, `]);
  foot.append(make("span", verdict, receipt.isSignatureGood ? "" : "bad"), `, answered ${receipt.status}, `, time(receipt.at));
  return make("li", "", "", [head, foot]);
}

function subscriptionRow(subscription, now) {
  const left = Math.max(0, Math.round((Date.parse(subscription.expiresAt) - Date.parse(now)) / 1000));
  const topic = new URL(subscription.topic).pathname;
  const cells = [topic, `${left} of ${subscription.leaseSeconds} s`, `${subscription.renewalCount}×`, `${subscription.pushCount}×`];
  return make("tr", "", "", cells.map((cell) => make("td", cell)));
}

function show(state) {
  $("reader").href = `${state.serverUrl}/`;
  $("every").textContent = state.everySeconds;
  say("press", state.isPressBroken ? "A Gazeta que Falha answers 503: the reader says why it fails." : "A Gazeta que Falha works.", state.isPressBroken);
  offer(...(state.isPressBroken ? ["repair-press", "break-press"] : ["break-press", "repair-press"]));
  say("hub-state", state.isHubSilent ? "Silent: it takes everything and pushes nothing. Within a minute or two the server notices, and polls." : "It pushes what is published, signed, for as long as a lease lasts.", state.isHubSilent);
  offer(...(state.isHubSilent ? ["wake-hub", "silence-hub"] : ["silence-hub", "wake-hub"]));
  say("receiver-state", state.isReceiverRefusing ? "It answers 503 to everything: deliveries wait, and are tried again." : "It verifies and accepts what is delivered.", state.isReceiverRefusing);
  offer(...(state.isReceiverRefusing ? ["accept", "refuse"] : ["refuse", "accept"]));
  $("published").replaceChildren(...state.published.slice(0, LINES_MAX).map(publishedLine));
  $("receipts").replaceChildren(...state.receipts.slice(0, LINES_MAX).map(receiptLine));
  $("subscriptions").replaceChildren(...state.subscriptions.map((one) => subscriptionRow(one, state.now)));
}

async function refresh() {
  const answer = await fetch("/state");
  show(await answer.json());
}

async function follow() {
  for (;;) {
    try {
      await refresh();
    } catch {
      say("hub-state", "The demo has ended.", true);
    }
    await new Promise((done) => setTimeout(done, PAUSE_MS));
  }
}

document.addEventListener("submit", async (event) => {
  event.preventDefault();
  await fetch(event.target.action, { method: "POST", redirect: "manual" });
  await refresh();
});

follow();
