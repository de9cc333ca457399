// The line above a stored page: its frame may have been led to another one, which only the server knows.
"use strict";
(() => {
  const frame = document.getElementById("stored"), line = document.getElementById("shown");
  async function tell() {
    try {
      const answer = await fetch(line.dataset.from);
      if (answer.status === 200 && !answer.redirected) line.innerHTML = await answer.text();
    } catch { /* the line stays as it is */ }
  }
  frame.addEventListener("load", tell);
  tell();
})();
