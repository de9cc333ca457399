// A box that scrolls is a stop of Tab, so that its hidden part is reached by keyboard; a box that does not is none.
"use strict";
(() => {
  const scrolls = (one) => one.scrollWidth > one.clientWidth + 1 || one.scrollHeight > one.clientHeight + 1;
  const stop = () => document.querySelectorAll("main .scroll[tabindex]").forEach((one) => { one.tabIndex = scrolls(one) ? 0 : -1; });
  stop();
  addEventListener("load", stop);
  addEventListener("resize", stop);
  document.body.addEventListener("htmx:afterSwap", stop);
  document.addEventListener("toggle", stop, true);
})();
