// An order's form: what is wrong is told as soon as it is answered, folded sections say what is set in them, and an estimate is kept.
"use strict";
(() => {
  const WAIT_MS = 300, NAMES_MS = 1000;
  const form = document.querySelector("form[data-check]");
  if (!form) return;
  const answered = new Set();
  let timer, asked = 0, tried = form.elements.seeds?.value;

  form.addEventListener("change", (event) => {
    if (event.target.name) answered.add(event.target.name);
    clearTimeout(timer);
    timer = setTimeout(check, WAIT_MS);
  });

  // The page that comes back has the sections open that are open now.
  form.addEventListener("submit", () => {
    form.querySelectorAll("input[name=unfolded]").forEach((input) => input.remove());
    form.querySelectorAll("details[data-section][open]").forEach(({ dataset }) =>
      form.append(Object.assign(document.createElement("input"), { type: "hidden", name: "unfolded", value: dataset.section })));
  });

  async function check() {
    const number = ++asked;
    const answers = new FormData(form);
    answers.delete("seeds_file"); // what is in a file is read when the form is sent
    let found;
    try {
      const answer = await fetch(form.dataset.check, { method: "POST", body: answers });
      if (!answer.ok || answer.redirected) return;
      found = await answer.json();
    } catch { return; } // no answer: the form still tells all when it is sent
    if (number !== asked) return;
    answered.forEach((name) => tell(name, found.errors[name] || ""));
    Object.entries(found.told).forEach(([key, text]) => sum(key, text));
    const closed = document.getElementById("closed-addresses");
    if (closed && found.closed !== undefined && closed.innerHTML.trim() !== found.closed) closed.innerHTML = found.closed; // our own template
    nameStart(closed);
    if (found.is_resolving) timer = setTimeout(check, NAMES_MS); // what names of seeds resolve to is told then
    else trySeeds(found);
    document.getElementById("estimate").innerHTML = found.estimate; // our own template
  }

  // While addresses are not allowed, Save and start would be refused: it allows them first, and says so.
  function nameStart(closed) {
    const start = document.getElementById("save-and-start"), allowing = closed?.querySelector("[data-start]");
    if (!start) return;
    if (allowing) start.setAttribute("formaction", allowing.dataset.start);
    else start.removeAttribute("formaction");
    const words = allowing ? allowing.dataset.words : "Save and start";
    if (start.textContent !== words) start.textContent = words;
  }

  // Once we have said who we are, seeds that are fit to be fetched are tried as soon as they are typed.
  function trySeeds(found) {
    const seeds = form.elements.seeds, button = document.getElementById("try-seeds");
    if (!button || !window.htmx || form.elements.contact_url || seeds.value === tried) return;
    if (Object.keys(found.errors).length || found.closed || !seeds.value.trim()) return;
    tried = seeds.value;
    button.click();
  }

  function tell(name, sentence) {
    const field = form.elements[name];
    if (!(field instanceof Element) || field.type === "file") return;
    const id = `${field.id}_error`;
    let told = document.getElementById(id);
    if (!sentence) {
      told?.remove();
      field.removeAttribute("aria-invalid");
      return;
    }
    if (!told) {
      told = Object.assign(document.createElement("p"), { id, className: "error" });
      field.closest(".field").querySelector("small")?.before(told) ?? field.after(told);
    }
    if (told.textContent !== sentence) told.textContent = sentence;
    field.setAttribute("aria-invalid", "true");
    field.closest("details.section")?.setAttribute("open", ""); // what is wrong must be seen
    const described = new Set((field.getAttribute("aria-describedby") || "").split(" ").filter(Boolean)).add(id);
    field.setAttribute("aria-describedby", [...described].join(" "));
  }

  function sum(key, text) {
    const told = form.querySelector(`[data-section="${key}"] .told`);
    if (!told) return;
    told.textContent = text || told.dataset.usual;
    told.classList.toggle("set", Boolean(text));
  }

  check();
})();
