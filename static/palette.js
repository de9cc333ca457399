// Ctrl-K: one field that finds places, what can be done here, crawls, collections, extractors, alerts, hosts and pages. What it finds
// are links and buttons of the page and answers of the JSON interface, so it can do nothing that a page cannot. Its last row leads to
// the search of texts.
"use strict";
(() => {
  const WAIT_MS = 150, MOST = 5, SHORTEST = 2;
  const opener = document.getElementById("find-anything");
  if (!opener) return;
  const places = [...document.querySelectorAll("header.site a[href]:not(.brand)")];
  const home = (key) => places.find((link) => link.dataset.key === key)?.getAttribute("href");
  const sources = [
    { ask: "crawls", kind: () => "Crawl", name: (one) => one.name, href: (one) => `${home("c")}${one.id}/` },
    { ask: "named-things", kind: (one) => one.kind, name: (one) => one.name, href: (one) => one.path },
    { ask: "hosts", kind: () => "Host", name: (one) => one.name, href: (one) => `${home("h")}${one.id}/` },
    { ask: "pages", kind: (one) => `Page · ${[...new Set([one.url.split("/")[2] || "file", one.crawl_name])].join(", ")}`, name: (one) => one.title || one.url,
      href: (one) => `${home("c")}${one.crawl}/pages/${one.page}/` },
  ];
  let asked = 0, timer, sought = "", last = Promise.resolve();

  const dialog = document.createElement("dialog");
  dialog.id = "palette";
  dialog.setAttribute("aria-label", "Find anything");
  dialog.innerHTML = `<article><input type="search" aria-label="Find crawls, collections, hosts, pages, places and actions"
    placeholder="Find crawls, collections, hosts, pages, places and actions" autocomplete="off" spellcheck="false">
    <ul role="list"></ul><p class="sub" role="status"></p></article>`;
  document.body.append(dialog);
  const field = dialog.querySelector("input"), list = dialog.querySelector("ul"), told = dialog.querySelector("p");

  function row(kind, name, act) {
    const item = document.createElement("li");
    const choice = document.createElement(typeof act === "string" ? "a" : "button");
    if (typeof act === "string") choice.href = act;
    else choice.addEventListener("click", () => { dialog.close(); act(); });
    choice.append(Object.assign(document.createElement("span"), { textContent: name }), Object.assign(document.createElement("small"), { textContent: kind }));
    item.append(choice);
    return item;
  }

  // What the page itself offers: the places and its own buttons.
  function own(text) {
    const holds = (name) => name.toLowerCase().includes(text.toLowerCase());
    const name = (element) => element.getAttribute("aria-label") || [...element.childNodes].filter((one) => one.ariaHidden !== "true").map((one) => one.textContent).join("").trim();
    const actions = [...document.querySelectorAll("main .verbs :is(button, a), main .head > [role=button]")].filter((one) => !one.disabled);
    return [
      ...actions.filter((one) => holds(name(one))).map((one) => row("Action", name(one), () => one.click())),
      ...places.filter((one) => holds(name(one))).map((one) => row(one.dataset.key ? `Place, g ${one.dataset.key}` : "Place", name(one), one.getAttribute("href"))),
    ];
  }

  // One question after the other: the server has few places for programs, and refuses what finds none.
  async function answers(source, text, isWanted) {
    while (isWanted()) {
      try {
        const answer = await fetch(`${opener.dataset.api}${source.ask}?q=${encodeURIComponent(text)}`, { headers: { Accept: "application/json" } });
        if (answer.status === 503) {
          await new Promise((resolve) => setTimeout(resolve, 1000 * (answer.headers.get("Retry-After") || 1)));
          continue;
        }
        if (!answer.ok) return [];
        return (await answer.json()).items.slice(0, source.ask === "named-things" ? undefined : MOST).map((one) => row(source.kind(one), source.name(one), source.href(one)));
      } catch { return []; } // no answer: what the page offers is still there
    }
    return [];
  }

  function find() {
    const number = ++asked, text = field.value.trim(), isWanted = () => number === asked && dialog.open;
    const found = own(text);
    clearTimeout(timer);
    sought = text;
    list.replaceChildren(...found);
    told.textContent = "";
    if (text.length < SHORTEST) return;
    last = last.then(async () => {
      let more = 0;
      for (const source of sources) {
        const rows = await answers(source, text, isWanted);
        if (!isWanted()) return;
        list.append(...rows);
        more += rows.length;
      }
      told.textContent = found.length + more ? "" : `Nothing has “${text}” in its name.`;
      if (opener.dataset.texts) list.append(row("Text search", `Search the text of all pages for “${text}”`, `${opener.dataset.texts}?q=${encodeURIComponent(text)}`));
    });
  }
  // Enter that comes before the answers waits for them.
  function follow() {
    if (field.value.trim() !== sought) find();
    const number = asked, first = () => list.querySelector("a, button");
    if (first()) first().click();
    else last.then(() => { if (number === asked && dialog.open) first()?.click(); });
  }

  function open() {
    field.value = "";
    find();
    dialog.showModal();
    field.focus();
  }
  function move(step) {
    const choices = [field, ...list.querySelectorAll("a, button")];
    const here = choices.indexOf(document.activeElement);
    choices[Math.min(Math.max(here + step, 0), choices.length - 1)].focus();
  }

  field.addEventListener("input", () => {
    clearTimeout(timer);
    timer = setTimeout(find, WAIT_MS);
  });
  dialog.addEventListener("keydown", (event) => {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (step) move(step);
    else if (event.key === "Enter" && event.target === field) follow();
    else if (event.key === "Escape") dialog.close(); // a search field would only become empty
    else return;
    event.preventDefault();
  });
  dialog.addEventListener("click", (event) => { if (event.target === dialog) dialog.close(); });
  opener.hidden = false;
  opener.addEventListener("click", open);
  document.addEventListener("keydown", (event) => {
    if (event.key.toLowerCase() !== "k" || !(event.ctrlKey || event.metaKey) || event.altKey || event.shiftKey) return;
    event.preventDefault();
    if (!dialog.open && !document.querySelector("dialog[open]")) open();
  });
})();
