// Keeps `#live` fresh: htmx asks for it whenever pace.js says so. What somebody is at work in is left alone.
"use strict";
(() => {
  const live = document.getElementById("live");
  if (!live) return;
  const box = document.getElementById("pause-refresh");
  let shown = live.innerHTML.trim();

  function inUse() {
    const selection = getSelection();
    const selects = selection && !selection.isCollapsed && selection.getRangeAt(0).intersectsNode(live);
    const focused = document.activeElement;
    return selects || (live.contains(focused) && focused.matches("input:not([type=checkbox]), select, textarea"));
  }

  document.addEventListener("refresh", () => live.dispatchEvent(new CustomEvent("live")));

  // A refresh ends with the page's alarms. They are shown whatever happens to the rest, and are no part of it.
  let alarms = null, isHeld = false;
  function parsed(text) {
    const holder = document.createElement("template");
    holder.innerHTML = text;
    alarms = holder.content.getElementById("alarms");
    alarms?.remove();
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
    if (!isOurs) { // logged out meanwhile: the log-in says so, and leads back
      const login = new URL(xhr.responseURL);
      login.searchParams.set("next", location.pathname + location.search);
      login.searchParams.set("ended", "1");
      location.assign(login);
    }
    const fresh = parsed(xhr.responseText);
    const isNew = isOurs && xhr.status === 200 && fresh !== shown;
    isHeld = isNew && (inUse() || box.checked);
    event.detail.shouldSwap = isNew && !isHeld;
    if (event.detail.shouldSwap) {
      event.detail.serverResponse = shown = fresh;
      restore = keep();
    }
  });
  live.addEventListener("htmx:afterSwap", () => { restore(); restore = () => {}; });
  live.addEventListener("htmx:afterRequest", (event) => {
    if (event.target !== live) return;
    document.dispatchEvent(new CustomEvent("refreshed", { detail: { isFresh: event.detail.successful, isHeld, alarms } }));
    alarms = null;
  });
})();
