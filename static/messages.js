// What an action answered: it can be closed, and good news goes by itself once it has been there to read.
"use strict";
(() => {
  const READ_MS = 10000;
  document.querySelectorAll(".message.flash").forEach((message) => {
    const close = Object.assign(document.createElement("button"), { type: "button", className: "plain close", textContent: "×" });
    close.setAttribute("aria-label", "Close this message");
    close.addEventListener("click", () => message.remove());
    message.append(close);
    if (!message.matches(".success, .info")) return;
    // Not while somebody is at it.
    // Not beside a state that has changed since: it would seem to deny it.
    const state = () => document.querySelector("main .state")?.textContent;
    const before = state();
    document.body.addEventListener("htmx:afterSwap", () => { if (state() !== before) message.remove(); });
    setTimeout(function go() {
      if (message.matches(":hover, :focus-within")) setTimeout(go, 1000);
      else message.remove();
    }, READ_MS);
  });
})();
