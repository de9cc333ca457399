// The log: new lines come at its end, and it stays there until somebody scrolls up to read.
"use strict";
(() => {
  const KEY = "crawlsite.log-wraps";
  const MOST = 5000; // lines kept in the page; older ones are a click away
  const NEAR = 8;
  const box = document.getElementById("log-box");
  const lines = document.getElementById("lines");
  const wrap = document.getElementById("wrap");

  // A browser may forbid storage; then the box holds for this page only.
  try { wrap.checked = localStorage.getItem(KEY) !== "0"; } catch { /* see above */ }
  wrap.addEventListener("change", () => {
    try { localStorage.setItem(KEY, wrap.checked ? "1" : "0"); } catch { /* see above */ }
    if (isFollowing) toEnd();
  });
  let isFollowing = "live" in box.dataset;
  if (!isFollowing) return;

  const jump = document.getElementById("to-end");
  const follows = document.getElementById("follows");
  const seen = new Set([...lines.children].map((line) => line.id));
  let following = lines.dataset.following;
  let unread = 0, alarms = null;

  function toEnd() { box.scrollTop = box.scrollHeight; }
  function tell() {
    jump.hidden = isFollowing;
    jump.textContent = unread ? `jump to the end (${unread.toLocaleString()} new)` : "jump to the end";
    const words = isFollowing ? "Following" : "Following is paused while you read";
    if (follows.textContent !== words) follows.textContent = words;
  }
  box.addEventListener("scroll", () => {
    isFollowing = box.scrollHeight - box.scrollTop - box.clientHeight < NEAR;
    if (isFollowing) unread = 0;
    tell();
  });
  jump.addEventListener("click", (event) => {
    event.preventDefault();
    isFollowing = true;
    unread = 0;
    toEnd();
    box.focus({ preventScroll: true });
    tell();
  });

  // Numbers are given when lines are written, and one may be seen after the next: each goes to its place.
  function add(line) {
    if (seen.has(line.id)) return;
    seen.add(line.id);
    const number = Number(line.id.slice(1));
    let before = lines.lastElementChild;
    while (before && Number(before.id.slice(1)) > number) before = before.previousElementSibling;
    before ? before.after(line) : lines.prepend(line);
    if (!isFollowing) unread += 1;
  }
  function trim() {
    const older = document.getElementById("older");
    while (isFollowing && lines.children.length > MOST) {
      seen.delete(lines.firstElementChild.id);
      lines.firstElementChild.remove();
    }
    if (older && lines.firstElementChild) {
      const address = new URL(older.href);
      address.searchParams.set("before", lines.firstElementChild.id.slice(1));
      older.href = address;
    }
  }

  // Shows what is behind that line; returns where to look for the rest, if there is any.
  async function ask(after) {
    const address = new URL(location.href);
    address.hash = "";
    address.searchParams.set("after", after);
    const headers = { "HX-Request": "true", "HX-Target": "live" };
    const answer = await fetch(address, { headers, signal: AbortSignal.timeout(10000) });
    if (answer.redirected) location.reload(); // logged out meanwhile: the page itself leads to the log-in and back
    if (!answer.ok) throw new Error(answer.status);
    const holder = document.createElement("template");
    holder.innerHTML = await answer.text();
    alarms = holder.content.getElementById("alarms");
    const found = holder.content.getElementById("lines");
    [...found.children].forEach(add);
    if (found.children.length) box.querySelector(".empty")?.remove();
    // Behind lines that have not settled others may still appear: the next refresh begins before them.
    if (after === following) following = found.dataset.following;
    trim();
    if (isFollowing) toEnd();
    tell();
    return found.dataset.newer;
  }
  document.addEventListener("refresh", async () => {
    let isFresh = true, after = following;
    alarms = null;
    try {
      while (after && (lines.children.length < MOST || isFollowing)) after = await ask(after);
    } catch { isFresh = false; }
    document.dispatchEvent(new CustomEvent("refreshed", { detail: { isFresh, alarms } }));
  });

  if (!location.hash) toEnd();
  tell();
})();
