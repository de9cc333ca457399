/* Runs in each document before its own scripts, in their world: it takes away what floods the
   browser and its driver with messages, and what is of no use without a network. */
"use strict";
(() => {
  for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection", "WebTransport"]) delete globalThis[name];
  let left = 100;
  const cut = (value) => typeof value === "string" ? value.slice(0, 1000) : value;
  for (const [name, write] of Object.entries(console)) {
    if (typeof write === "function") console[name] = (...values) => left-- > 0 ? write.apply(console, values.map(cut)) : undefined;
  }
  const hold = (event) => { if (left-- <= 0) event.preventDefault(); };
  addEventListener("error", hold);
  addEventListener("unhandledrejection", hold);
})();
