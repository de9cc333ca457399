// In the frame of a stored page: what a reader points at is marked, and a click tells the page around the frame its selector.
"use strict";
(() => {
  const MARK = "2px solid #2f5bd0";
  let marked = null, before = "";

  function mark(element) {
    if (marked) marked.style.outline = before;
    marked = element;
    if (!element) return;
    before = element.style.outline;
    element.style.outline = MARK;
  }

  function selectorOf(element) {
    const { getCssSelector } = window.CssSelectorGenerator;
    const root = element.ownerDocument.documentElement;
    return getCssSelector(element, { root, selectors: ["id", "class", "tag", "attribute", "nthoftype"], blacklist: ["[style*", "[title*", "[href*"], maxCandidates: 2000 });
  }

  // of the page as it is shown links and files lead elsewhere, or nowhere: their values are told where the page still has them
  function attributesOf(element) {
    const told = /^Not archived: (.*)$/s.exec(element.title), found = new Map();
    if (/^(a|area)$/i.test(element.localName)) found.set("href", told ? told[1] : "");
    if (/^(img|iframe|video|audio|source|embed)$/i.test(element.localName)) found.set("src", "");
    for (const { name, value } of element.attributes) {
      const isOurs = name === "style" || (name === "title" && told) || found.has(name);
      if (!isOurs && /^[a-z_:][a-z0-9_:.-]*$/i.test(name) && value.trim()) found.set(name, value.trim().replace(/\s+/g, " "));
    }
    return [...found].slice(0, 20).map(([name, value]) => [name, value.slice(0, 60)]);
  }

  document.addEventListener("mouseover", (event) => mark(event.target));
  document.addEventListener("click", (event) => {
    event.preventDefault();
    event.stopPropagation();
    mark(null);
    parent.postMessage({ selector: selectorOf(event.target), attributes: attributesOf(event.target) }, "*");
  }, true);
})();
