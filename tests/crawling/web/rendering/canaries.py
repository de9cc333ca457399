"""Servers on loopback that note whatever reaches them, and a page that tries all ways there."""

from __future__ import annotations

import socket
import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Canary:
    """A port of loopback, TCP and UDP, IPv4 and IPv6, that notes whatever comes."""

    def __init__(self) -> None:
        self.heard: list[str] = []
        self._sockets: list[socket.socket] = []
        first = self._open(socket.AF_INET, socket.SOCK_STREAM, "127.0.0.1", 0)
        self.port = first.getsockname()[1]
        self._open(socket.AF_INET, socket.SOCK_DGRAM, "127.0.0.1", self.port)
        if socket.has_ipv6:
            for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
                self._open(socket.AF_INET6, kind, "::1", self.port)

    def _open(self, family: int, kind: int, address: str, port: int) -> socket.socket:
        opened = socket.socket(family, kind)
        opened.bind((address, port))
        if kind == socket.SOCK_STREAM:
            opened.listen()
        self._sockets.append(opened)
        threading.Thread(target=self._hear, args=(opened,), daemon=True).start()
        return opened

    def _hear(self, opened: socket.socket) -> None:
        try:
            while True:
                if opened.type == socket.SOCK_STREAM:
                    connection, _ = opened.accept()
                    with connection:
                        connection.settimeout(1)
                        self.heard.append("TCP")
                else:
                    opened.recv(2000)
                    self.heard.append("UDP")
        except OSError:
            return

    def close(self) -> None:
        for opened in self._sockets:
            with opened:
                if opened.type == socket.SOCK_STREAM:
                    opened.shutdown(socket.SHUT_RDWR)


@contextmanager
def canary() -> Iterator[Canary]:
    opened = Canary()
    try:
        yield opened
    finally:
        opened.close()


#: CANARY stands for host and port
ALL_WAYS = """<!doctype html>
<link rel=icon href=http://CANARY/favicon><link rel=manifest href=http://CANARY/manifest>
<link rel=preconnect href=http://CANARY><link rel=dns-prefetch href=//canary.example>
<link rel=prefetch href=http://CANARY/prefetch><link rel=preload as=image href=http://CANARY/preload>
<link rel=modulepreload href=http://CANARY/modulepreload>
<link rel=stylesheet href=http://CANARY/stylesheet>
<script type=speculationrules>{"prefetch": [{"urls": ["http://CANARY/speculation"]}],
  "prerender": [{"urls": ["http://site.example/prerender"]}]}</script>
<style>@font-face {font-family: x; src: url(http://CANARY/font)} body {font-family: x;
  background: url(http://CANARY/background)} @import url(http://CANARY/import);</style>
<body>text
<img src=http://CANARY/image><img src=file:///etc/hostname><img src=/redirect>
<video src=http://CANARY/video autoplay></video><audio src=http://CANARY/audio></audio>
<object data=http://CANARY/object></object><embed src=http://CANARY/embed>
<iframe src=http://CANARY/frame></iframe><iframe src=file:///etc/passwd></iframe>
<iframe src=/refresh.html></iframe><iframe src=/moves.html></iframe>
<iframe src="data:text/html,<img src=http://CANARY/data>"></iframe>
<iframe srcdoc="<script>new WebSocket('ws://CANARY/srcdoc')</script>"></iframe>
<iframe src=chrome://version></iframe><iframe src=view-source:http://CANARY/></iframe>
<iframe src=ftp://CANARY/ftp></iframe>
<form method=post action=http://CANARY/form target=into></form><iframe name=into></iframe>
<a id=ping href=#x ping=http://CANARY/ping>x</a>
<a id=download download href=http://CANARY/download>x</a>
<script>
const to = '//CANARY/';
const each = (...ways) => { for (const way of ways) try { way()?.catch?.(() => 0) } catch {} };
const blob = (text, type) => URL.createObjectURL(new Blob([text], {type}));
const inWorker = `fetch('http:${to}worker', {mode: 'no-cors'}).catch(() => 0);
  try { new WebSocket('ws:${to}worker') } catch {}
  try { importScripts('http:${to}imported') } catch {}`;
each(
  () => fetch('http:' + to + 'fetch', {mode: 'no-cors'}),
  () => fetch('https:' + to + 'https', {mode: 'no-cors'}),
  () => fetch('http:' + to + 'keepalive', {mode: 'no-cors', keepalive: true, method: 'POST'}),
  () => fetch('http://[::1]:' + to.split(':')[1] + 'six', {mode: 'no-cors'}),
  () => fetch('http://169.254.169.254/latest/meta-data/', {mode: 'no-cors'}),
  () => fetch('file:///etc/hostname').then((a) => a.text()).then((t) => document.body.append(t)),
  () => { const x = new XMLHttpRequest(); x.open('POST', 'http:' + to + 'xhr'); x.send('x') },
  () => { new WebSocket('ws:' + to + 'socket') }, () => { new WebSocket('wss:' + to + 'socket') },
  () => { new WebSocket('ws://localhost:' + to.split(':')[1]) },
  () => { new EventSource('http:' + to + 'events') },
  () => { navigator.sendBeacon('http:' + to + 'beacon', 'x') },
  () => new WebTransport('https:' + to + 'transport').ready,
  () => { new Worker(blob(inWorker, 'text/javascript')) },
  () => { new SharedWorker(blob(inWorker.replaceAll('worker', 'shared'), 'text/javascript')) },
  () => { new SharedWorker('/shared.js') },
  () => navigator.serviceWorker.register('/service.js'),
  () => { document.querySelector('form').submit() },
  () => { ping.click() }, () => { download.click() },
  () => { window.open('http:' + to + 'window') },
  () => { open('http:' + to + 'noopener', '_blank', 'noopener') },
  () => { const f = document.createElement('iframe');
          f.src = blob('<img src=http:' + to + 'blob>', 'text/html'); document.body.append(f) },
  () => { location = 'data:text/html,<img src=http:' + to + 'navigation>' },
  () => import('http:' + to + 'module'),
  () => navigator.credentials.get({identity: {
    providers: [{configURL: 'https:' + to, clientId: 'x'}]}}),
  () => {
    const peer = new RTCPeerConnection({iceServers: [{urls: 'stun:' + to.slice(2, -1)},
      {urls: 'turn:' + to.slice(2, -1), username: 'x', credential: 'x'},
      {urls: 'turn:' + to.slice(2, -1) + '?transport=tcp', username: 'x', credential: 'x'}]});
    peer.createDataChannel('x');
    peer.onicecandidate = (e) => { if (e.candidate) document.body.append(e.candidate.candidate) };
    return peer.createOffer().then((offer) => peer.setLocalDescription(offer));
  },
);
addEventListener('pagehide', () => navigator.sendBeacon('http:' + to + 'unload', 'x'));
let ticks = 0;
const tick = setInterval(() => {
  document.title = ++ticks; if (ticks == 20) clearInterval(tick) }, 100);
</script>"""
