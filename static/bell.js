// The bell in the frame of every page: how many problems need attention. Without scripts it is a link to their list.
"use strict";
(() => {
  const EVERY_MS = 30000, MOST = 99;
  const bell = document.getElementById("bell");
  if (!bell) return;
  const badge = bell.querySelector(".badge"), words = bell.querySelector(".words");

  // Whoever pauses the refresh is asked no more than once.
  const pause = document.getElementById("pause-refresh");
  let isShown = false;

  async function ask() {
    if (document.hidden || (isShown && pause?.checked)) return;
    try {
      const answer = await fetch(bell.dataset.count, { headers: { Accept: "application/json" } });
      if (!answer.ok || answer.redirected) return;
      const { count } = await answer.json();
      isShown = true;
      badge.hidden = !count;
      badge.textContent = count > MOST ? `${MOST}+` : count;
      words.textContent = count ? `${words.dataset.words}: ${count}` : words.dataset.words;
    } catch { /* no answer: the bell keeps what it has shown */ }
  }

  ask();
  setInterval(ask, EVERY_MS);
  document.addEventListener("visibilitychange", ask);
})();
