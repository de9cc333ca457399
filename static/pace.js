// How often pages ask anew, and how old they are. When it is time the document gets "refresh"; what asks (live.js, log.js)
// answers by "refreshed": isFresh, whether there was an answer; isHeld, whether somebody is at work in what it would change; and the alarms.
"use strict";
(() => {
  const KEY = "crawlsite.refresh-paused";
  if (!document.querySelector("#live, [data-live]")) return;

  const box = document.getElementById("pause-refresh");
  const every = document.getElementById("refresh-every");
  const stale = document.getElementById("stale");
  const age = document.getElementById("age");
  let timer, asking = false, isFresh = true, freshAt = Date.now();

  document.getElementById("refresh").hidden = false;
  box.checked = remembered() === "1";
  box.addEventListener("change", () => {
    remember(box.checked ? "1" : "0");
    ask();
    tell();
  });
  every.addEventListener("change", () => {
    keep();
    pace();
    ask();
  });

  // A browser may forbid storage; then the box holds for this page only.
  function remembered() {
    try { return localStorage.getItem(KEY); } catch { return null; }
  }
  function remember(value) {
    try { localStorage.setItem(KEY, value); } catch { /* see above */ }
  }

  // On the account, so that it holds in every browser; until then it holds on this page.
  async function keep() {
    const answers = new FormData(document.getElementById("act"));
    answers.set("refresh_seconds", every.value);
    try {
      const answer = await fetch(every.dataset.keep, { method: "POST", body: answers });
      if (answer.ok && !answer.redirected) return;
    } catch { /* told below */ }
    stale.textContent = "Not kept on your account: no answer.";
  }

  function isStill() { return box.checked || every.value === "0"; }

  function ask() {
    if (document.hidden || isStill() || asking) return;
    asking = true;
    document.dispatchEvent(new CustomEvent("refresh"));
  }

  document.addEventListener("refreshed", ({ detail }) => {
    asking = false;
    isFresh = detail.isFresh;
    if (isFresh && !detail.isHeld) freshAt = Date.now();
    const alarms = document.getElementById("alarms");
    if (detail.alarms && detail.alarms.innerHTML !== alarms.innerHTML) alarms.replaceChildren(...detail.alarms.childNodes);
    const sentence = isFresh ? "" : "No answer, reconnecting.";
    if (stale.textContent !== sentence) stale.textContent = sentence;
    tell();
  });

  // Of a page that is as fresh as was asked for nothing is told. No part of `stale`, which is read aloud when it changes.
  function tell() {
    const seconds = Math.round((Date.now() - freshAt) / 1000);
    const isOld = !isFresh || isStill() || seconds > 3 * Number(every.value) + 10;
    age.hidden = !isOld;
    age.textContent = isOld ? `As of ${new Date(freshAt).toISOString().slice(11, 19)} UTC, ${words(seconds)} old` : "";
    document.body.classList.toggle("stale", !isFresh);
  }
  function words(seconds) {
    if (seconds < 100) return `${seconds} s`;
    return seconds < 6000 ? `${Math.round(seconds / 60)} min` : `${Math.round(seconds / 3600)} h`;
  }

  function pace() {
    clearInterval(timer);
    if (every.value !== "0") timer = setInterval(ask, 1000 * Number(every.value));
    tell();
  }
  // Not before all scripts are there: a question that nobody hears would be the last.
  document.addEventListener("DOMContentLoaded", () => {
    pace();
    setInterval(tell, 1000);
    document.addEventListener("visibilitychange", ask);
  });
})();
