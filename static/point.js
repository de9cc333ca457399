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

  document.addEventListener("mouseover", (event) => mark(event.target));
  document.addEventListener("click", (event) => {
    event.preventDefault();
    event.stopPropagation();
    mark(null);
    const text = event.target.textContent.trim().replace(/\s+/g, " ").slice(0, 100);
    parent.postMessage({ selector: selectorOf(event.target), text }, "*");
  }, true);
})();
