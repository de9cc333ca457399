/* Runs in each document in a world of its own: pages neither see nor change it, and it changes no
   object of theirs. The program calls the functions of `crawlPage`. */
"use strict";
globalThis.crawlPage ??= (() => {
  /* Labels of what shows more of the same page, and of what has consequences. */
  const MORE = new RegExp(
    "\\b(load|show|view|see|read|display|fetch)\\s+(\\d+\\s+)?(more|all|older|next)\\b|^more\\b|\\bmore\\s+(results|items|posts|articles|products|comments)\\b" +
      "|mehr\\s+(laden|anzeigen|zeigen)|weitere\\b.*(laden|anzeigen)|(charger|afficher|voir)\\s+(plus|la suite)" +
      "|(cargar|mostrar|ver|carregar|mostra|carica)\\s+(más|mas|mais|di più|altro|altri)|meer\\s+(laden|tonen)" +
      "|(pokaż|załaduj)\\s+więcej|(показать|загрузить)\\s+(ещё|еще|больше)|加载更多|查看更多|显示更多|もっと見る|더\\s*보기",
    "iu");
  const NEVER = new RegExp(
    "log\\s*(out|off|in)|sign\\s*(out|off|in|up)|abmeld|anmeld|auslogg|einlogg|connect|connexion|cerrar sesi|iniciar sesi|\\bsalir|выйти|退出|注销" +
      "|\\b(buy|pay|order|purchase|checkout|cart|basket|book|donate|subscribe|accept|agree|allow|consent|cookies?)\\b" +
      "|kauf|bestell|bezahl|warenkorb|spende|abonn|zustimm|akzept|achet|command|payer|panier|inscri|accept|compr|pagar|carrito|suscri|купить|购买" +
      "|\\b(delete|remove|erase|clear|cancel|reset|unsubscribe|send|submit|post|publish|share|report|block|download)\\b" +
      "|lösch|entfern|kündig|senden|teilen|melden|supprim|effac|envoy|annul|partag|signal|elimin|borrar|quitar|enviar|cancelar|compart|удалить|删除",
    "iu");
  const LONGEST_LABEL = 60, MOST_ROUTES = 1000;
  const CLICKABLE = "button, [role=button], a, summary";
  const tried = new WeakSet(), observed = new WeakSet();
  let changedAt = performance.now();
  const observer = new MutationObserver(() => { changedAt = performance.now(); });

  const each = function* (root) {
    yield root;
    for (const element of root.querySelectorAll("*")) if (element.shadowRoot) yield* each(element.shadowRoot);
  };
  const shadowRoots = () => [...each(document)].slice(1);
  const observe = () => {
    for (const root of each(document)) {
      if (!observed.has(root)) observer.observe(root, { childList: true, subtree: true, characterData: true });
      observed.add(root);
    }
  };

  /* Whether the document is loaded and did not change for `quiet` ms, which may take `bound` ms. */
  const settled = (quiet, bound) => new Promise((resolve) => {
    const until = performance.now() + bound;
    const look = () => {
      observe();
      const now = performance.now(), left = changedAt + quiet - now;
      if (left <= 0 && document.readyState === "complete") resolve(true);
      else if (now >= until) resolve(false);
      else setTimeout(look, Math.min(Math.max(left, 20), until - now));
    };
    look();
  });

  const scrolls = (element) => element.clientHeight > 150 && element.scrollHeight > element.clientHeight + 50
    && /auto|scroll/.test(getComputedStyle(element).overflowY);
  const scrollers = () => {
    const found = document.scrollingElement ? [document.scrollingElement] : [];
    for (const root of each(document)) found.push(...[...root.querySelectorAll("*")].filter(scrolls));
    return found;
  };
  /* Scroll all that scrolls so that `steps` steps reach the end. Returns whether anything moved. */
  const scroll = (steps) => {
    let moved = false;
    for (const element of scrollers()) {
      const before = element.scrollTop, rest = element.scrollHeight - element.clientHeight - before;
      element.scrollTo({ top: before + Math.max(element.clientHeight, rest / steps), behavior: "instant" });
      moved ||= element.scrollTop > before;
    }
    return moved;
  };

  const label = (element) => (element.innerText || element.getAttribute("aria-label") || element.title || "")
    .replace(/\s+/gu, " ").trim();
  const leadsAway = (element) => {
    const href = element.localName === "a" ? element.getAttribute("href") : null;
    return (href && !/^(#|javascript:)/iu.test(href.trim())) || element.hasAttribute("download");
  };
  const showsMore = (element) => {
    const words = label(element), said = `${words} ${element.getAttribute("aria-label") ?? ""} ${element.title}`;
    return words.length <= LONGEST_LABEL && MORE.test(words) && !NEVER.test(said) && !leadsAway(element)
      && !element.closest("form, [contenteditable]") && !element.form && !element.disabled && element.checkVisibility();
  };
  /* Click on the first element that looks like *load more*. Returns its label, and the fingerprint
     of the document before; null if there is none. */
  const click = () => {
    for (const root of each(document)) {
      for (const element of root.querySelectorAll(CLICKABLE)) {
        if (!tried.has(element) && showsMore(element)) {
          const before = { label: label(element), fingerprint: hash(html()) };
          clicked = element;
          element.click();
          return before;
        }
      }
    }
    return null;
  };
  let clicked = null;
  /* Not again what was clicked last: it changes nothing. */
  const giveUpClicked = () => { if (clicked) tried.add(clicked); };

  const html = () => {
    const root = document.documentElement;
    if (!root) return "";
    const type = document.doctype ? new XMLSerializer().serializeToString(document.doctype) + "\n" : "";
    const shell = root.cloneNode(false).outerHTML, end = shell.lastIndexOf("</");
    return type + shell.slice(0, end) + root.getHTML({ shadowRoots: shadowRoots() }) + shell.slice(end);
  };
  const text = () => {
    const parts = [document.body?.innerText ?? document.documentElement?.textContent ?? ""];
    for (const root of shadowRoots()) for (const child of root.children) if (child.innerText) parts.push(child.innerText);
    return parts.join("\n");
  };
  /* 53 bits of a text (cyrb53). */
  const hash = (of) => {
    let a = 0xdeadbeef, b = 0x41c6ce57;
    for (let i = 0; i < of.length; i++) {
      const code = of.charCodeAt(i);
      a = Math.imul(a ^ code, 2654435761);
      b = Math.imul(b ^ code, 1597334677);
    }
    a = Math.imul(a ^ (a >>> 16), 2246822507) ^ Math.imul(b ^ (b >>> 13), 3266489909);
    b = Math.imul(b ^ (b >>> 16), 2246822507) ^ Math.imul(a ^ (a >>> 13), 3266489909);
    return (4294967296 * (2097151 & b) + (a >>> 0)).toString(16).padStart(14, "0");
  };
  /* Links to routes that the scripts of this document show: fragments that name no place in it. */
  const routeLinks = () => {
    const found = new Set(), here = location.href.split("#", 1)[0];
    for (const root of each(document)) {
      for (const link of root.querySelectorAll('a[href*="#/"], a[href*="#!"]')) {
        const whole = String(link.href), fragment = whole.slice(here.length + 1);
        if (whole.startsWith(`${here}#`) && /^[/!]/.test(fragment) && !document.getElementById(fragment)) found.add(whole);
        if (found.size >= MOST_ROUTES) return [...found];
      }
    }
    return [...found];
  };
  const place = () => ({ url: location.href, fingerprint: hash(html()) });
  /* `isLast`: the window shows the top of the document from then on, for a picture. */
  const content = (most, isLast) => {
    if (isLast) for (const element of scrollers()) element.scrollTo({ top: 0, behavior: "instant" });
    const whole = html();
    return {
      url: location.href, title: document.title, fingerprint: hash(whole),
      routeLinks: routeLinks(), html: whole.slice(0, most), text: text().slice(0, most), isCut: whole.length > most,
    };
  };

  observe();
  return Object.freeze({ settled, scroll, click, giveUpClicked, place, content });
})();
