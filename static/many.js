// The list of crawls: one box ticks all of the page, and the number that is ticked stands where the many are acted on.
"use strict";
(() => {
  const form = document.getElementById("bulk");
  if (!form) return;
  const which = form.elements.which.options[0];
  const boxes = () => [...document.querySelectorAll("input[name=crawl][form=bulk]")];

  function tell() {
    const all = boxes(), ticked = all.filter((box) => box.checked).length;
    const head = document.getElementById("choose-page");
    if (head) {
      head.checked = ticked > 0 && ticked === all.length;
      head.indeterminate = ticked > 0 && ticked < all.length;
    }
    const words = ticked ? `${ticked} selected` : form.elements.which.dataset.ticked;
    if (which.textContent !== words) which.textContent = words;
  }

  document.addEventListener("change", ({ target }) => {
    if (target.id === "choose-page") boxes().forEach((box) => { box.checked = target.checked; });
    if (target.id === "choose-page" || target.name === "crawl") {
      form.elements.which.value = "ticked";
      tell();
    }
  });
  form.addEventListener("reset", () => setTimeout(tell));
  document.body.addEventListener("htmx:afterSettle", tell);
  addEventListener("pageshow", tell);
})();
