// A file that was asked for and is there by now (`data-loads`) begins to load by itself, once, and the page stays: in a frame, so that
// files that are there at the same time do not break each other off. A reload then begins with what is left (`data-left`).
"use strict";
(() => {
  const loaded = new Set();
  function load() {
    document.querySelectorAll("a[data-loads]").forEach((link) => {
      if (loaded.has(link.href)) return;
      loaded.add(link.href);
      const frame = document.createElement("iframe");
      frame.hidden = true;
      frame.src = link.href;
      document.body.append(frame);
      history.replaceState(null, "", link.closest("[data-left]").dataset.left);
    });
  }
  load();
  document.addEventListener("htmx:afterSwap", load);
})();
