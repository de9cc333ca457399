// Beside what somebody may want to paste elsewhere (`data-copy`: an ID, a command, a token) stands a button that copies it.
"use strict";
(() => {
  if (!navigator.clipboard) return; // a browser offers it on https and on this machine only

  function offer(element) {
    if (element.nextElementSibling?.matches("button.copy")) return;
    const button = document.createElement("button");
    button.type = "button";
    button.className = "copy plain";
    button.textContent = "copy";
    button.setAttribute("aria-label", `Copy ${element.dataset.copy || element.textContent.trim()}`);
    button.addEventListener("click", async () => {
      await navigator.clipboard.writeText(element.dataset.copy || element.textContent.trim());
      button.textContent = "copied";
      setTimeout(() => { button.textContent = "copy"; }, 1500);
    });
    element.after(button);
  }

  const offerAll = () => document.querySelectorAll("[data-copy]").forEach(offer);
  offerAll();
  document.addEventListener("htmx:afterSwap", offerAll);
})();
