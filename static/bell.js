// The bell in the frame of every page: how many problems need attention, how many news are unread, and of how many runs news are not known yet. Without scripts it is a link to their list.
"use strict";
(() => {
  const EVERY_MS = 30000, MOST = 99;
  const bell = document.getElementById("bell");
  if (!bell) return;
  const [problems, news] = bell.querySelectorAll(".badge"), words = bell.querySelector(".words");
  const name = words.textContent;

  // Whoever pauses the refresh is asked no more than once.
  const pause = document.getElementById("pause-refresh");
  let isShown = false;

  async function ask() {
    if (document.hidden || (isShown && pause?.checked)) return;
    try {
      const answer = await fetch(bell.dataset.count, { headers: { Accept: "application/json" } });
      if (!answer.ok || answer.redirected) return;
      const numbers = await answer.json(), told = [];
      isShown = true;
      for (const [badge, count, one] of [[problems, numbers.count, "problem"], [news, numbers.news, "unread news"]]) {
        badge.hidden = !count;
        badge.textContent = count > MOST ? `${MOST}+` : count;
        if (count) told.push(`${badge.textContent} ${one}${one === "problem" && count !== 1 ? "s" : ""}`);
      }
      if (numbers.pending) told.push(`${numbers.pending} run${numbers.pending === 1 ? "" : "s"} not compared yet`);
      words.textContent = bell.title = told.length ? `${name}: ${told.join(", ")}` : name;
    } catch { /* no answer: the bell keeps what it has shown */ }
  }

  ask();
  setInterval(ask, EVERY_MS);
  document.addEventListener("visibilitychange", ask);
})();
