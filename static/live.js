// Keeps `#live` fresh: htmx asks for it every two seconds, unless nobody looks, the operator paused it, or is at work in it.
"use strict";
(() => {
  const EVERY_MS = 2000;
  const KEY = "crawlsite.refresh-paused";
  const live = document.getElementById("live");
  if (!live) return;

  const box = document.getElementById("pause-refresh");
  const stale = document.getElementById("stale");
  let shown = live.innerHTML.trim();
  let asking = false;
  let freshAt = new Date();

  document.getElementById("refresh").hidden = false;
  box.checked = remembered() === "1";
  box.addEventListener("change", () => {
    remember(box.checked ? "1" : "0");
    ask();
  });

  // A browser may forbid storage; then the box holds for this page only.
  function remembered() {
    try { return localStorage.getItem(KEY); } catch { return null; }
  }
  function remember(value) {
    try { localStorage.setItem(KEY, value); } catch { /* see above */ }
  }

  function inUse() {
    const selection = getSelection();
    const selects = selection && !selection.isCollapsed && selection.intersectsNode(live);
    const focused = document.activeElement;
    return selects || (live.contains(focused) && focused.matches("input:not([type=checkbox]), select, textarea"));
  }

  function ask() {
    if (document.hidden || box.checked || asking) return;
    asking = true;
    live.dispatchEvent(new CustomEvent("live"));
  }

  // A refresh ends with the page's alarms. They are shown whatever happens to the rest, and are no part of it.
  function parsed(text) {
    const holder = document.createElement("template");
    holder.innerHTML = text;
    const alarms = holder.content.getElementById("alarms");
    if (alarms) {
      const here = document.getElementById("alarms");
      if (here.innerHTML !== alarms.innerHTML) here.replaceChildren(...alarms.childNodes);
      alarms.remove();
    }
    return holder.innerHTML.trim();
  }

  // What a swap would lose: the focus of an element without an id, what was scrolled, ticked and unfolded.
  function sameAs(element) {
    const facts = ["formaction", "href", "name", "value", "aria-label", "aria-labelledby"].filter((name) => element.hasAttribute(name));
    return element.tagName.toLowerCase() + facts.map((name) => `[${name}="${CSS.escape(element.getAttribute(name))}"]`).join("");
  }
  function keep() {
    const focused = live.contains(document.activeElement) && !document.activeElement.id ? sameAs(document.activeElement) : null;
    const scrolled = [...live.querySelectorAll(".scroll")].map((one) => [one.scrollLeft, one.scrollTop]);
    const unfolded = [...live.querySelectorAll("details")].map((one) => one.open);
    const ticked = [...live.querySelectorAll("input[type=checkbox]:checked")].map(sameAs);
    return () => {
      ticked.forEach((one) => { const box = live.querySelector(one); if (box) box.checked = true; });
      live.querySelectorAll(".scroll").forEach((one, i) => { if (scrolled[i]) [one.scrollLeft, one.scrollTop] = scrolled[i]; });
      live.querySelectorAll("details").forEach((one, i) => { if (unfolded[i] !== undefined) one.open = unfolded[i]; });
      if (focused) live.querySelector(focused)?.focus({ preventScroll: true });
    };
  }

  let restore = () => {};
  live.addEventListener("htmx:beforeSwap", (event) => {
    if (event.target !== live) return;
    const { xhr, pathInfo } = event.detail;
    const isOurs = new URL(xhr.responseURL).pathname === new URL(pathInfo.finalRequestPath, location).pathname;
    if (!isOurs) location.reload(); // logged out meanwhile: the page itself leads to the log-in and back
    const fresh = parsed(xhr.responseText);
    event.detail.shouldSwap = isOurs && xhr.status === 200 && fresh !== shown && !inUse() && !box.checked;
    if (event.detail.shouldSwap) {
      event.detail.serverResponse = shown = fresh;
      restore = keep();
    }
  });
  live.addEventListener("htmx:afterSwap", () => { restore(); restore = () => {}; });
  live.addEventListener("htmx:afterRequest", (event) => {
    if (event.target !== live) return;
    asking = false;
    if (event.detail.successful) {
      freshAt = new Date();
      if (stale.textContent) stale.textContent = "";
    } else {
      const sentence = `No answer; as of ${freshAt.toLocaleTimeString()}`;
      if (stale.textContent !== sentence) stale.textContent = sentence;
    }
  });

  setInterval(ask, EVERY_MS);
  document.addEventListener("visibilitychange", ask);
})();
