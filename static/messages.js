// What an action answered: it can be closed; good news without a button goes once it has been there to read; and none stays beside a
// state of its crawl that it does not announce.
"use strict";
(() => {
  const READ_MS = 10000;
  const stateOf = (crawl) => document.querySelector(`[data-crawl="${CSS.escape(crawl)}"] .state`)?.textContent.trim();

  function dropStale() {
    document.querySelectorAll(".message.flash [data-about]:not([data-about=''])").forEach(({ dataset, parentElement }) => {
      const state = stateOf(dataset.about);
      if (state && !dataset.while.split(" ").includes(state)) parentElement.remove();
    });
  }

  document.querySelectorAll(".message.flash").forEach((message) => {
    const close = Object.assign(document.createElement("button"), { type: "button", className: "plain close", textContent: "×" });
    close.setAttribute("aria-label", "Close this message");
    close.addEventListener("click", () => message.remove());
    message.append(close);
    if (!message.matches(".success, .info") || message.querySelector("button[form]")) return;
    // Not while somebody is at it.
    setTimeout(function go() {
      if (message.matches(":hover, :focus-within")) setTimeout(go, 1000);
      else message.remove();
    }, READ_MS);
  });
  dropStale();
  document.body.addEventListener("htmx:afterSwap", dropStale);
})();
