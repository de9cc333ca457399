// A file that was ordered and is there by now (`data-loads`) begins to load by itself, in a hidden frame, so that the page stays. One follows the other, since
// the server sends few at a time; a cookie (`data-cookie`) says whether it sends one, refuses it for a moment, or cannot. What is sent is taken out of the address.
"use strict";
(() => {
  const LOOK_MS = 200, AGAIN_MS = 10000;
  const outcomes = new Map();
  let isAtWork = false;
  const pause = (ms) => new Promise((done) => { setTimeout(done, ms); });
  const links = () => [...document.querySelectorAll("a[data-loads]")];
  const told = (cookie) => document.cookie.split("; ").find((one) => one.startsWith(`${cookie}=`))?.split("=")[1];

  function show() {
    links().forEach((link) => link.parentElement.querySelectorAll("[data-said]").forEach((words) => {
      words.hidden = words.dataset.said !== outcomes.get(link.href);
    }));
  }

  function takeOut(name) {
    const address = new URL(location.href);
    const left = (address.searchParams.get("then") ?? "").split(",").filter((one) => one && one !== name);
    if (left.length) address.searchParams.set("then", left.join(","));
    else ["then", "jobs", "load"].forEach((key) => address.searchParams.delete(key));
    history.replaceState(null, "", address);
  }

  async function begin({ href, dataset: { cookie } }) {
    document.cookie = `${cookie}=; Max-Age=0; Path=${location.pathname}`;
    const frame = document.createElement("iframe");
    let isShown = false, isOver = false;
    frame.addEventListener("load", () => { isShown = true; }); // a page instead of the file, such as the log-in
    Object.assign(frame, { hidden: true, src: href });
    document.body.append(frame);
    while (!told(cookie) && !isOver) {
      isOver = isShown;
      await pause(LOOK_MS);
    }
    return told(cookie) ?? "failed";
  }

  async function load() {
    show();
    if (isAtWork) return;
    isAtWork = true;
    const next = () => links().find((link) => !["sent", "failed"].includes(outcomes.get(link.href)));
    for (let link = next(); link; link = next()) {
      const outcome = await begin(link);
      outcomes.set(link.href, outcome);
      show();
      if (outcome === "sent") takeOut(link.dataset.loads);
      if (outcome === "refused") await pause(AGAIN_MS);
    }
    isAtWork = false;
  }

  load();
  document.addEventListener("htmx:afterSwap", load);
})();
