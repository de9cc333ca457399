// Results while typing: htmx asks for the whole form's answer, one request at a time (`queue last`). The field keeps the focus; the
// address follows, so that a reload and the way back show the same; and the number of results is read aloud.
"use strict";
(() => {
  const form = document.querySelector("form[role=search]"), told = document.getElementById("told");
  document.addEventListener("htmx:beforeSwap", ({ detail }) => {
    if (detail.requestConfig.elt !== form) return;
    const { xhr, pathInfo } = detail;
    const isOurs = xhr.status === 200 && new URL(xhr.responseURL).pathname === new URL(pathInfo.finalRequestPath, location).pathname;
    if (isOurs) return;
    detail.shouldSwap = false;
    form.submit(); // logged out, or an error: the whole page says it
  });
  document.addEventListener("htmx:afterSwap", ({ detail }) => {
    if (detail.requestConfig.elt !== form) return;
    history.replaceState(null, "", detail.pathInfo.finalRequestPath);
    told.textContent = document.querySelector("#results :is(h2, .message, .empty)")?.textContent ?? "";
  });
})();
