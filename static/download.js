// A file that was asked for and is there by now (`data-loads`) begins to load by itself, once.
"use strict";
(() => {
  const loaded = new Set();
  function load() {
    document.querySelectorAll("a[data-loads]").forEach((link) => {
      if (loaded.has(link.href)) return;
      loaded.add(link.href);
      const address = new URL(location);
      address.searchParams.delete("then"); // a reload begins nothing
      history.replaceState(null, "", address);
      location.assign(link.href);
    });
  }
  load();
  document.addEventListener("htmx:afterSwap", load);
})();
