// The pictures of a live view, once a second while its tab is shown. Browsers are asked for pictures only while this asks.
"use strict";
(() => {
  const screens = document.getElementById("screens");
  let isAsking = false;
  setInterval(async () => {
    if (document.hidden || isAsking) return;
    isAsking = true;
    try {
      const answer = await fetch(screens.dataset.from, { headers: { "HX-Request": "true" } });
      if (answer.status === 200 && !answer.redirected) screens.innerHTML = await answer.text();
    } catch { /* asked again in a second */ }
    isAsking = false;
  }, 1000);
})();
