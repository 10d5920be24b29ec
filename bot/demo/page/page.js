"use strict";
// The page of the demo: shows what the people in the emulated Telegram see, and does what they do.
// Everything that comes from outside is put in as text, never as HTML.

const at = (selector, inside = document) => inside.querySelector(selector);
const make = (tag, properties = {}, ...children) => {
  const element = Object.assign(document.createElement(tag), properties);
  element.append(...children);
  return element;
};

const state = { bot: { first_name: "Kai" }, people: new Map(), chats: new Map(), seen: new Map(), open: null, front: null, panes: new Map() };

// ── the line to the demo ──────────────────────────────────────────────────────────────────────────────────

let socket, asked = 0, failures = 0;
const waiting = new Map();

function connect() {
  socket = new WebSocket(new URL("socket", location.href.replace(/^http/, "ws")));
  socket.onopen = () => { failures = 0; at("#lost").hidden = true; };
  socket.onmessage = (event) => { const said = JSON.parse(event.data); take[said.kind](said); };
  socket.onclose = () => {
    for (const { no } of waiting.values()) no(new Error("the demo does not answer"));
    waiting.clear();
    failures += 1;
    at("#lost").hidden = failures < 2;
    setTimeout(connect, Math.min(5000, 300 * failures));
  };
}

function ask(verb, values = {}) {
  return new Promise((yes, no) => {
    if (socket.readyState !== WebSocket.OPEN) return no(new Error("the demo does not answer"));
    asked += 1;
    waiting.set(asked, { yes, no });
    socket.send(JSON.stringify({ re: asked, do: verb, ...values }));
  });
}

const take = {
  hello({ bot, people, about }) {
    state.bot = bot;
    state.people = new Map(people.map((person) => [person.id, person]));
    at("#model").textContent = at("#model").title = `${about.model} – ${about.why}`;
  },
  chat(chat) {
    const until = performance.now();
    for (const passing of [...chat.drafts, ...chat.actions]) passing.until = until + passing.left * 1000;
    for (const toast of chat.toasts) toast.until = until + (4 - toast.age) * 1000;
    state.chats.set(chat.id, chat);
    if (state.open === null && (chat.type === "private" && chat.people[0] === [...state.people.keys()][0])) show(chat.id, false);
    if (state.open === chat.id) drawPanes();
    drawList();
  },
  bot({ running, pid, starts, code }) {
    const life = at("#life");
    life.textContent = running ? "● running" : "● not running";
    life.className = running ? "" : "dead";
    const ended = code === null ? "" : code < 0 ? `; the one before was killed by signal ${-code}` : `; the one before ended with code ${code}`;
    at("#process").textContent = running ? `Process ${pid}, start ${starts}${ended}.` : `It is dead (${code < 0 ? `signal ${-code}` : `code ${code}`}). What was said to it is kept.`;
    at("#kill").disabled = !running;
    at("#start").disabled = running;
  },
  calls({ calls }) {
    at("#calls").replaceChildren(...calls.reverse().map((call) => {
      const mark = call.status === null ? "wait" : call.status === 200 ? "" : "bad";
      const line = make("li", {}, make("span", { textContent: call.method }), make("span", { className: mark, textContent: call.status === null ? "…" : `${call.status} · ${Math.round(call.took * 1000)} ms` }));
      if (call.description) line.append(make("small", { textContent: call.description }));
      return line;
    }));
  },
  answer({ re, result, error }) {
    const { yes, no } = waiting.get(re) ?? {};
    waiting.delete(re);
    if (error !== undefined) no?.(new Error(error)); else yes?.(result);
  },
};

// ── the list of chats ─────────────────────────────────────────────────────────────────────────────────────

const hue = (id) => Math.abs(Number(id) * 47) % 360;
const initials = (name) => (name || "?").trim().slice(0, 1).toUpperCase();
const named = (person) => state.people.get(person)?.first_name ?? "";

function chatName(chat) {
  return chat.type === "private" ? `${state.bot.first_name} ↔ ${chat.title}` : chat.title;
}

function newEntry(chat) {
  const avatar = make("span", { className: "avatar", textContent: initials(chat.title) });
  avatar.style.setProperty("--hue", hue(chat.id));
  const entry = make("button", { type: "button", onclick: () => show(chat.id) }, avatar,
    make("span", {}, make("span", { className: "name", textContent: chatName(chat) }), make("span", { className: "last" })), make("i"));
  entry.dataset.chat = chat.id;
  at("#chats").insertBefore(entry, at("#chats p"));
  return entry;
}

// An entry stays the same element for as long as the page lives: one that was replaced between the press and
// the release of a mouse button would swallow the click.
function drawList() {
  const [first, second] = [...state.people.values()];
  at("#chats p").textContent = `${first?.first_name} may approve, ${second?.first_name ?? "others"} may only ask. What the bot runs, it runs on this machine.`;
  for (const chat of state.chats.values()) {
    const entry = at(`#chats [data-chat="${chat.id}"]`) ?? newEntry(chat), last = chat.messages.at(-1);
    const count = chat.messages.filter((message) => message.bot).length;
    if (state.open === chat.id || !state.seen.has(chat.id)) state.seen.set(chat.id, count);
    const news = count - state.seen.get(chat.id);
    at(".last", entry).textContent = last ? last.text || words(last.kind) : "nothing yet";
    at("i", entry).textContent = news;
    at("i", entry).hidden = news <= 0;
    entry.setAttribute("aria-current", String(state.open === chat.id));
  }
}

function show(id, enter = true) {
  const chat = state.chats.get(id);
  state.open = id;
  if (!chat.people.includes(state.front)) state.front = chat.people[0];
  if (enter) { document.body.dataset.view = "chat"; closeFaults(true); }
  state.panes = new Map();
  const tabs = make("div", { className: "tabs" }, ...chat.people.map((person) => {
    const tab = make("button", { type: "button", textContent: named(person), onclick: () => { state.front = person; drawPanes(); } });
    tab.dataset.person = person;
    return tab;
  }));
  const side = make("div", { className: "side" });
  for (const person of chat.people) {
    const pane = new Pane(person, id);
    state.panes.set(person, pane);
    side.append(pane.root);
  }
  at("#panes").replaceChildren(tabs, side);
  drawPanes();
  drawList();
}

function drawPanes() {
  for (const tab of document.querySelectorAll("#panes .tabs button")) tab.setAttribute("aria-selected", String(Number(tab.dataset.person) === state.front));
  for (const [person, pane] of state.panes) {
    pane.root.classList.toggle("front", person === state.front);
    pane.draw();
  }
}

// ── one person's view of a chat ───────────────────────────────────────────────────────────────────────────

const STARTERS = ["How is the server?", "How full is the disk?", "What uses the memory?", "Delete old.tmp", "Count slowly to 8", "Send me logs/demo.log", "What can you do?"];

class Pane {
  constructor(person, chatId) {
    this.person = person;
    this.chatId = chatId;
    this.topic = null;
    this.replyTo = null;
    this.editOf = null;
    this.drawn = new Map();
    this.root = at("#pane").content.firstElementChild.cloneNode(true);
    this.root.dataset.person = person;
    this.list = at(".messages", this.root);
    this.input = at("textarea", this.root);
    this.low = true;
    this.list.onscroll = () => { this.low = this.list.scrollHeight - this.list.scrollTop - this.list.clientHeight < 60; };
    new ResizeObserver(() => this.low && this.fall()).observe(this.list);
    at(".composer", this.root).onsubmit = (event) => { event.preventDefault(); this.send(); };
    this.input.onkeydown = (event) => {
      if (event.key === "Enter" && !event.shiftKey && !event.isComposing) { event.preventDefault(); this.send(); }
    };
    this.input.oninput = () => this.grow();
    at("input[type=file]", this.root).onchange = (event) => { this.sendFile(event.target.files[0]); event.target.value = ""; };
    at(".about button", this.root).onclick = () => this.about(null, null);
  }

  get chat() { return state.chats.get(this.chatId); }
  get where() { return { person: this.person, chat: this.chatId, topic: this.topic }; }
  here(thing) { return !this.chat.forum || (thing.topic ?? null) === this.topic; }

  draw() {
    const chat = this.chat, now = performance.now();
    const avatar = at(".avatar", this.root), other = chat.type === "private" ? state.bot.first_name : chat.title;
    avatar.textContent = initials(other);
    avatar.style.setProperty("--hue", hue(chat.type === "private" ? state.bot.id : chat.id));
    at(".title", this.root).textContent = other;
    at(".seat", this.root).textContent = `as ${named(this.person)}`;
    const action = chat.actions.find((action) => action.until > now && this.here(action));
    const sub = at(".sub", this.root);
    sub.classList.toggle("busy", Boolean(action));
    sub.textContent = action ? words(action.name) + "…" : chat.type === "private" ? "bot" : `${chat.people.map(named).join(", ")} and ${state.bot.first_name}`;
    this.drawTopics();
    this.drawMessages(now);
    const toast = chat.toasts.filter((toast) => toast.person === this.person && toast.until > now).at(-1);
    if (toast || !this.told) { at(".toast", this.root).hidden = !toast; at(".toast", this.root).textContent = toast?.text ?? ""; }
    this.drawSuggestions();
    clearTimeout(this.timer);
    const next = Math.min(...[...chat.actions, ...chat.drafts, ...chat.toasts].map((passing) => passing.until).filter((until) => until > now));
    if (Number.isFinite(next)) this.timer = setTimeout(() => state.open === this.chatId && this.draw(), next - now + 20);
  }

  drawTopics() {
    const bar = at(".topics", this.root), chat = this.chat;
    bar.hidden = !chat.forum;
    if (!chat.forum) return;
    const tabs = [{ id: null, name: "General" }, ...chat.topics].map(({ id, name }) => {
      const tab = make("button", { type: "button", textContent: id === null ? name : `# ${name}`, onclick: () => { this.topic = id; this.list.replaceChildren(); this.drawn.clear(); this.draw(); } });
      tab.setAttribute("role", "tab");
      tab.setAttribute("aria-selected", String(id === this.topic));
      return tab;
    });
    const add = make("button", { type: "button", textContent: "+", title: "New topic", onclick: () => {
      const name = prompt("Name of the topic");
      if (name) this.try(ask("act", { person: this.person, do: "create_topic", chat: this.chatId, name }));
    } });
    bar.replaceChildren(...tabs, add);
  }

  drawMessages(now) {
    const wanted = this.chat.messages.filter((message) => this.here(message)).map((message) => [`m${message.id}`, message]);
    for (const draft of this.chat.drafts) if (draft.until > now && this.here(draft)) wanted.push([`d${draft.id}`, { ...draft, draft: true }]);
    const keys = new Set(wanted.map(([key]) => key));
    for (const [key, { node }] of this.drawn) if (!keys.has(key)) { node.remove(); this.drawn.delete(key); }
    let before = null;
    for (const [key, message] of wanted) {
      const print = JSON.stringify({ ...message, left: 0, until: 0 });
      let known = this.drawn.get(key);
      if (known?.print !== print) {
        const node = this.message(message);
        if (known) known.node.replaceWith(node);
        this.drawn.set(key, known = { print, node });
      }
      const place = before ? before.nextSibling : this.list.firstChild;
      if (known.node !== place) this.list.insertBefore(known.node, place);
      before = known.node;
    }
    if (this.low) this.fall();
  }

  fall() { this.list.scrollTop = this.list.scrollHeight; }

  message(message) {
    if (message.draft) return this.draft(message);
    if (!message.text && !message.file) return make("p", { className: "service", textContent: words(message.kind) });
    const own = message.from.id === this.person;
    const bubble = make("div", { className: "bubble" });
    if (!own && this.chat.type !== "private") bubble.append(make("span", { className: "sender", textContent: message.from.first_name }));
    const replied = message.reply_to && this.chat.messages.find((one) => one.id === message.reply_to);
    if (replied && (replied.text || replied.file)) bubble.append(make("span", { className: "reply", textContent: replied.text || words(replied.kind) }));
    if (message.file) bubble.append(file(message));
    if (message.text) bubble.append(make("div", { className: "text", dir: "auto" }, ...format(message.text, message.entities)));
    bubble.append(this.meta(message, own));
    const node = make("div", { className: `message ${own ? "own" : message.bot ? "bot" : "other"}` }, bubble);
    node.dataset.message = message.id;
    if (message.buttons.length) node.append(this.keyboard(message));
    return node;
  }

  meta(message, own) {
    const time = new Date(message.date * 1000).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit" });
    const meta = make("div", { className: "meta" });
    const reactions = Object.values(message.reactions).flat().map((reaction) => make("span", { textContent: reaction.emoji }));
    if (reactions.length) meta.append(make("span", { className: "reactions" }, ...reactions));
    meta.append(make("button", { type: "button", textContent: "Reply", onclick: () => this.about(message.id, null) }));
    if (own) meta.append(make("button", { type: "button", textContent: "Edit", onclick: () => this.about(null, message.id) }));
    meta.append(make("span", { textContent: (message.edited && message.bot ? "edited " : "") + time }));
    return meta;
  }

  draft(draft) {
    const bubble = make("div", { className: "bubble" }, make("div", { className: "text", dir: "auto" }, ...(draft.text ? format(draft.text, draft.entities) : ["Thinking…"])));
    const node = make("div", { className: "message bot draft" }, bubble);
    if (draft.can_stop) node.append(make("div", { className: "keyboard" }, make("button", { type: "button", textContent: "Stop", onclick: () => this.try(ask("act", { ...this.where, do: "stop_draft" })) })));
    return node;
  }

  keyboard(message) {
    return make("div", { className: "keyboard" }, ...message.buttons.map((row) => make("div", {}, ...row.map((button) => {
      if (button.url) return make("a", { href: safe(button.url), target: "_blank", rel: "noopener noreferrer", textContent: button.text + " ↗", className: button.style });
      const press = () => button.copy_text ? navigator.clipboard.writeText(button.copy_text).then(() => this.tell("Copied")) : this.try(ask("press", { person: this.person, chat: this.chatId, message: message.id, button: button.data, within: 0 }));
      return make("button", { type: "button", textContent: button.text, className: button.style, onclick: press });
    }))));
  }

  drawSuggestions() {
    const box = at(".suggestions", this.root), text = this.input.value;
    const commands = text.startsWith("/") ? (this.chat.commands[this.person] ?? []).filter(({ command }) => `/${command}`.startsWith(text) && `/${command}` !== text) : [];
    const fresh = this.chat.type === "private" && !text && this.chat.messages.filter((message) => !message.bot).length < 4;
    const group = this.chat.type !== "private" && !text;
    const offers = commands.length ? commands.map(({ command, description }) => [`/${command}`, description]) : fresh ? STARTERS.map((starter) => [starter]) : group ? [[`@${state.bot.username} `, "call the bot"]] : [];
    const print = JSON.stringify(offers);
    box.hidden = !offers.length;
    box.classList.toggle("list", commands.length > 0);
    if (box.dataset.print === print) return;
    box.dataset.print = print;
    box.replaceChildren(...offers.map(([value, what]) => make("button", { type: "button", onclick: () => { this.input.value = value; this.grow(); this.input.focus(); } }, ...(what ? [make("b", { textContent: value.trim() }), ` ${what}`] : [value]))));
  }

  grow() {
    this.input.style.height = "auto";
    this.input.style.height = `${this.input.scrollHeight + 2}px`;
    this.drawSuggestions();
  }

  about(replyTo, editOf) {
    [this.replyTo, this.editOf] = [replyTo, editOf];
    const bar = at(".about", this.root), message = this.chat.messages.find((one) => one.id === (replyTo ?? editOf));
    bar.hidden = !message;
    if (!message) return;
    at("span", bar).textContent = `${editOf ? "Edit" : "Reply to"}: ${message.text || words(message.kind)}`;
    if (editOf) this.input.value = message.text;
    this.grow();
    this.input.focus();
  }

  async send() {
    const text = this.input.value.trim();
    if (!text) return;
    const values = { ...this.where, text, reply_to: this.replyTo, edit_of: this.editOf };
    this.input.value = "";
    this.about(null, null);
    this.grow();
    if (!await this.try(ask("send", values)) && !this.input.value) { this.input.value = text; this.grow(); }
    this.fall();
  }

  async sendFile(file) {
    if (!file) return;
    if (file.size > 20 * 1024 * 1024) return this.tell("Telegram gives bots files up to 20 MB only.");
    const data = await new Promise((yes) => {
      const reader = new FileReader();
      reader.onload = () => yes(reader.result.split(",")[1] ?? "");
      reader.readAsDataURL(file);
    });
    const caption = this.input.value.trim(), photo = /^image\/(png|jpeg)$/.test(file.type);
    this.input.value = "";
    this.grow();
    await this.try(ask(photo ? "photo" : "document", { ...this.where, name: file.name, mime: file.type, data, caption }));
  }

  async try(doing) {
    try { await doing; return true; } catch (error) { this.tell(error.message); return false; }
  }

  tell(text) {
    const toast = at(".toast", this.root);
    toast.textContent = text;
    toast.hidden = false;
    clearTimeout(this.told);
    this.told = setTimeout(() => { this.told = null; toast.hidden = true; }, 4000);
  }
}

// ── what a message looks like ─────────────────────────────────────────────────────────────────────────────

const words = (kind) => kind.replaceAll("_", " ").replace("supergroup chat", "group");
const safe = (url) => (/^(https?|tg|mailto|tel):/i.test(url) ? url : "about:blank");
const size = (bytes) => (bytes < 1000 ? `${bytes} B` : bytes < 1e6 ? `${(bytes / 1e3).toFixed(1)} kB` : `${(bytes / 1e6).toFixed(1)} MB`);

function file(message) {
  const { file_id: id, file_name: name, file_size: bytes } = message.file, address = `file/${encodeURIComponent(id)}`;
  if (message.kind === "photo") return make("a", { href: address, target: "_blank" }, make("img", { className: "photo", src: address, alt: "photo" }));
  return make("a", { className: "file", href: address, download: name || message.kind }, "📄", make("span", {}, make("b", { textContent: name || words(message.kind) }), ` ${size(bytes ?? 0)}`));
}

const TAGS = { bold: "b", italic: "i", underline: "u", strikethrough: "s", code: "code", pre: "pre", blockquote: "blockquote", expandable_blockquote: "blockquote", spoiler: "span" };
const BLOCKS = new Set(["pre", "blockquote", "expandable_blockquote"]);

// Offsets and lengths are UTF-16 units, as JavaScript's own strings count. Entities nest and never cross.
function format(text, entities) {
  const sorted = [...entities].sort((a, b) => a.offset - b.offset || b.length - a.length);
  let next = 0;
  const inside = (start, end) => {
    const nodes = [];
    let place = start, block = false;
    const plain = (until) => {
      let part = text.slice(place, until);
      if (block && part.startsWith("\n")) part = part.slice(1);  // the block already begins a new line
      if (part) nodes.push(part);
      place = Math.max(place, until);
    };
    while (next < sorted.length && sorted[next].offset < end) {
      const entity = sorted[next++], stop = Math.min(end, entity.offset + entity.length);
      if (entity.offset < place) continue;
      plain(entity.offset);
      block = BLOCKS.has(entity.type);
      if (block && typeof nodes.at(-1) === "string") nodes.push(nodes.pop().replace(/\n$/, ""));
      const children = inside(entity.offset, stop);
      nodes.push(dress(entity, children, text.slice(entity.offset, stop)));
      place = stop;
    }
    plain(end);
    return nodes;
  };
  return inside(0, text.length);
}

function dress(entity, children, covered) {
  const link = { url: covered, text_link: entity.url, email: `mailto:${covered}` }[entity.type];
  if (link !== undefined) return make("a", { href: safe(/^[a-z][a-z0-9+.-]*:/i.test(link) ? link : `http://${link}`), target: "_blank", rel: "noopener noreferrer" }, ...children);
  const element = make(TAGS[entity.type] ?? "span", {}, ...children);
  element.dataset.entity = entity.type;
  if (entity.type === "pre" && entity.language) element.dataset.language = entity.language;
  if (entity.type === "spoiler") { element.className = "spoiler"; element.onclick = () => element.classList.add("open"); }
  if (entity.type === "expandable_blockquote") {
    element.className = "foldable folded";
    element.onclick = () => element.classList.toggle("folded");
  }
  return element;
}

// ── faults ────────────────────────────────────────────────────────────────────────────────────────────────

const TROUBLES = [
  ["429: wait 5 seconds", { method: "*", kind: "refuse", status: 429, retry_after: 5 }, "The next call is answered 429, retry after 5."],
  ["502 once", { method: "*", kind: "refuse", status: 502 }, "The next call is answered 502: nobody knows whether it was done."],
  ["Slow: 4 seconds, three calls", { method: "*", kind: "slow", before: 4, times: 3 }, "The next three calls take 4 seconds each."],
  ["Drop the next call unread", { method: "*", kind: "close", runs: false }, "The connection of the next call is cut before Telegram acts."],
  ["Drop the next message's answer", { method: "sendMessage", kind: "close", runs: true }, "The next message arrives, but the bot is not told: the connection is cut."],
  ["Let the poll go deaf", { method: "getUpdates", kind: "half_open" }, "The waiting getUpdates hangs for ever, as a half-open connection does."],
  ["No more trouble", { kind: "clear" }, "All calls are answered well again."],
];

function trouble(text) { at("#trouble").textContent = text; }

function closeFaults(narrow) {
  if (narrow && !matchMedia("(max-width: 719px)").matches) return;
  at("#faults").hidden = true;
  at("#open-faults").setAttribute("aria-expanded", "false");
}

at("#troubles").append(...TROUBLES.map(([label, fault, meaning]) => make("button", { type: "button", textContent: label, onclick: () => ask("fault", fault).then(() => trouble(meaning), (error) => trouble(error.message)) })));
for (const verb of ["kill", "start"]) at(`#${verb}`).onclick = () => ask(verb).catch((error) => trouble(error.message));
at("#open-faults").onclick = () => {
  const panel = at("#faults");
  panel.hidden = !panel.hidden;
  at("#open-faults").setAttribute("aria-expanded", String(!panel.hidden));
};
at("#back").onclick = () => { if (at("#faults").hidden) document.body.dataset.view = "list"; else closeFaults(false); };

connect();
