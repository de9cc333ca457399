// The service worker of a run's origin: ReplayWeb.page's, held to a policy of ours.
//
// ReplayWeb.page gives documents in frames a policy of its own, which permits connections by
// WebSocket to any server and can be loosened by messages to its service worker. Here each answer
// also gets the policy of the server, and browsers enforce all policies that an answer has. The
// program itself is loaded as it was released.
"use strict";

{
  const POLICY = "$POLICY";
  // Browsers send reports to servers that these name, and connect early to hosts that Link names.
  const UNWANTED = ["reporting-endpoints", "report-to", "nel", "link"];
  // Not `response-origin`, as the server says: an answer that is made here has no address.
  const ALLOWLIST = '("' + self.location.origin + '/*"); $ALLOWS';
  const held = (answer) => {
    if (answer.type === "error" || answer.type.startsWith("opaque")) return answer;
    const headers = new Headers(answer.headers);
    headers.append("Content-Security-Policy", POLICY);
    headers.set("Connection-Allowlist", ALLOWLIST);
    for (const name of UNWANTED) headers.delete(name);
    const { status, statusText } = answer;
    return new Response(answer.body, { status, statusText, headers });
  };

  // Outside the frame of our page a script could lead the window away: the server answers there.
  self.addEventListener("fetch", (event) => {
    if (event.request.destination === "document") event.stopImmediatePropagation();
  });

  // The player's program in each stored page, which runs before the page's own. Pages do without
  // WebRTC: browsers that refuse it to frames by the list above end the page that asks for it.
  const PROGRAM = /\/static\/wombat\.js$$/;
  const REMOVE = `for (const name of ["RTCPeerConnection", "webkitRTCPeerConnection"]) {
    delete self[name];
  }\n`;
  const withoutWebRTC = async (answer) =>
    new Response(new Blob([REMOVE, await answer.blob()]), answer);

  // ReplayWeb.page runs the same file as a worker, too, which answers nothing.
  if (self.FetchEvent) {
    const answerWith = FetchEvent.prototype.respondWith;
    FetchEvent.prototype.respondWith = function (answer) {
      const all = Promise.resolve(answer).then(held);
      const isProgram = PROGRAM.test(new URL(this.request.url).pathname);
      answerWith.call(this, isProgram ? all.then(withoutWebRTC) : all);
    };
  }
}

importScripts("/released-sw.js");
