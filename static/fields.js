// Beside a stored page: the element that was pointed at in its frame becomes a line of the rules. Without scripts a selector is typed.
"use strict";
(() => {
  const frame = document.getElementById("stored"), rules = document.getElementById("given"), box = document.getElementById("pointed");
  if (!frame || !rules || !box) return;
  const selector = box.querySelector("[name=selector]"), name = box.querySelector("[name=name]"), type = box.querySelector("[name=type]"), takes = box.querySelector("[name=takes]");
  box.hidden = false;

  addEventListener("message", (event) => {
    if (event.source !== frame.contentWindow) return; // of the frame nothing but a selector is taken, as text
    const said = event.data && typeof event.data.selector === "string" ? event.data.selector : "";
    if (!said || said.length > 400 || /[\n\r]/.test(said)) return;
    selector.value = said;
    offer(event.data.attributes);
    name.focus();
  });

  // what an element can give: its text, or one of its attributes, which are told as text, too
  function offer(attributes) {
    takes.length = 1;
    for (const one of Array.isArray(attributes) ? attributes.slice(0, 20) : []) {
      const [key, value] = Array.isArray(one) ? one.map(String) : [];
      if (value === undefined || key.length > 60 || !/^[a-z_:][a-z0-9_:.-]*$/i.test(key)) continue;
      takes.add(new Option(value ? `${key}: ${value.slice(0, 60)}` : key, `::attr(${key})`));
    }
  }

  function free(wanted) {
    const taken = rules.value.split("\n").map((line) => line.split("=")[0].trim());
    let number = 1;
    while (taken.includes(wanted || `field ${number}`)) { if (wanted) wanted += "_"; number += 1; }
    return wanted || `field ${number}`;
  }
  box.querySelector("button").addEventListener("click", () => {
    if (!selector.value.trim()) { selector.focus(); return; }
    const line = `${free(name.value.replace(/=/g, " ").trim())} = ${selector.value.trim()}${takes.value}${type.value}`;
    rules.value = rules.value.trim() ? `${rules.value.trimEnd()}\n${line}` : line;
    name.value = selector.value = takes.value = "";
    rules.form.requestSubmit();
  });
})();
