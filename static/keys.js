// Keys for those who live here: `?` lists them. Off while somebody types, and for good if the box in the list is unticked.
"use strict";
(() => {
  const OFF = "crawlsite.keys-off";
  const GO_MS = 1500;
  const links = [...document.querySelectorAll("header.site a[data-key]")];
  let goUntil = 0;

  // A browser may forbid storage; then the box holds for this page only.
  let isOff = false;
  try { isOff = localStorage.getItem(OFF) === "1"; } catch { /* see above */ }

  const list = document.createElement("dialog");
  list.id = "keys";
  list.setAttribute("aria-labelledby", "keys-title");
  list.innerHTML = `<article>
    <h2 id="keys-title">Keyboard shortcuts</h2>
    <dl>
      <div><dt><kbd>/</kbd></dt><dd>search, on this page or everywhere</dd></div>
      <div><dt><kbd>j</kbd> <kbd>k</kbd></dt><dd>next and previous row; <kbd>Enter</kbd> opens it</dd></div>
      <div><dt><kbd>Ctrl</kbd> <kbd>K</kbd></dt><dd>find a crawl, host, page, place or action</dd></div>
      <div><dt><kbd>?</kbd></dt><dd>this list</dd></div>
    </dl>
    <label><input type="checkbox" id="keys-on"> Use these keys in this browser</label>
    <form method="dialog"><button class="small">Close</button></form>
  </article>`;
  const rows = list.querySelector("dl");
  for (const link of links) {
    const row = document.createElement("div");
    row.innerHTML = "<dt><kbd>g</kbd> <kbd></kbd></dt><dd></dd>";
    row.querySelectorAll("kbd")[1].textContent = link.dataset.key;
    row.querySelector("dd").textContent = `go to ${link.textContent.trim()}`;
    rows.append(row);
  }
  document.body.append(list);
  const box = list.querySelector("#keys-on");
  box.checked = !isOff;
  box.addEventListener("change", () => {
    isOff = !box.checked;
    try { localStorage.setItem(OFF, isOff ? "1" : "0"); } catch { /* see above */ }
  });

  const opener = document.getElementById("show-keys");
  if (opener) {
    opener.hidden = false;
    opener.querySelector("button").addEventListener("click", () => list.showModal());
  }

  function isTyping(element) {
    return element.closest("input:not([type=checkbox]), select, textarea, [contenteditable], dialog[open]");
  }

  // The link of each row of the tables in the main part: its heading's, or the first there is.
  function targets() {
    const found = [...document.querySelectorAll("main tbody tr:not(.below)")].map((row) => row.querySelector("th a[href]") || row.querySelector("a[href]"));
    return found.filter((link) => link && link.offsetParent);
  }
  function move(step) {
    const all = targets();
    const here = all.findIndex((link) => link.closest("tr").contains(document.activeElement));
    const next = here < 0 ? (step > 0 ? 0 : all.length - 1) : here + step;
    all[Math.min(Math.max(next, 0), all.length - 1)]?.focus();
  }
  function search() {
    const field = document.querySelector("main input[type=search]");
    if (field) {
      field.focus();
      field.select();
    } else links.find((link) => link.dataset.key === "s")?.click();
  }

  // A page that is for typing a word gets the first letter, too, wherever the focus has gone.
  const purpose = document.querySelector("main .search input[autofocus]");
  const isForIt = (event) => purpose && event.target === document.body && event.key.length === 1 && event.key !== " ";

  const deeds = { j: () => move(1), k: () => move(-1), "/": search, "?": () => list.showModal(), g: () => { goUntil = Date.now() + GO_MS; } };
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.altKey || event.metaKey || event.defaultPrevented || isTyping(event.target)) return;
    if (isForIt(event)) { purpose.focus(); return; }
    const asked = Date.now() < goUntil ? links.find((link) => link.dataset.key === event.key) : null;
    const deed = asked ? () => asked.click() : deeds[event.key];
    goUntil = 0;
    if (!deed || (isOff && event.key !== "?")) return;
    event.preventDefault();
    deed();
  });
})();
