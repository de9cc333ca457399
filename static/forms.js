// Forms that are filled in: leaving one with changes asks first, and what could not be sent is filled in again after a log-in.
"use strict";
(() => {
  const KEY = "unsent";
  const forms = [...document.querySelectorAll("main form.order, main form.narrow, main form.limits")].filter((form) => form.method === "post");
  const page = location.pathname + location.search;
  // A number that a link leads to is chosen whole: typing replaces it.
  const asked = document.querySelector("main form.limits input[autofocus]");
  if (asked && asked.value === asked.defaultValue) { asked.focus(); asked.select(); }
  const user = document.querySelector("header .who")?.textContent ?? "";
  const store = {
    get() { try { return JSON.parse(sessionStorage.getItem(KEY)); } catch { return null; } },
    set(value) { try { sessionStorage.setItem(KEY, JSON.stringify(value)); } catch { /* switched off: nothing is kept */ } },
    clear() { try { sessionStorage.removeItem(KEY); } catch { /* nothing was kept */ } },
  };

  // Not the token of the form, not passwords, not files: those are given anew.
  const fieldsOf = (form) => [...form.elements].filter((field) => field.name && !["hidden", "password", "file", "submit", "button"].includes(field.type));
  const isOn = (field) => (["checkbox", "radio"].includes(field.type) ? field.checked : true);
  const valuesOf = (field) => (field.type === "select-multiple" ? [...field.selectedOptions].map((one) => one.value) : [field.value]);
  const answersOf = (form) => fieldsOf(form).filter(isOn).flatMap((field) => valuesOf(field).map((value) => [field.name, value]));

  const asShown = new Map(forms.map((form) => [form, JSON.stringify(answersOf(form))]));
  const isUnsaved = (form) => form.querySelector("[aria-invalid=true]") || JSON.stringify(answersOf(form)) !== asShown.get(form);
  let isSending = false;
  addEventListener("beforeunload", (event) => { if (!isSending && forms.some(isUnsaved)) event.preventDefault(); });
  addEventListener("pageshow", () => { isSending = false; });

  document.addEventListener("submit", (event) => {
    if (event.defaultPrevented) return;
    isSending = true;
    const form = event.target;
    if (asShown.has(form)) store.set({ page, user, form: forms.indexOf(form), answers: answersOf(form) });
  });

  function fillIn({ form: number, answers }) {
    const form = forms[number];
    if (!form) return;
    fieldsOf(form).forEach((field) => {
      const given = answers.filter(([name]) => name === field.name).map(([, value]) => value);
      if (["checkbox", "radio"].includes(field.type)) field.checked = given.includes(field.value);
      else if (field.type === "select-multiple") [...field.options].forEach((one) => { one.selected = given.includes(one.value); });
      else if (given.length) field.value = given[0];
    });
    const told = Object.assign(document.createElement("p"), { className: "message", id: "filled-in" });
    told.setAttribute("role", "status");
    told.textContent = "This form was not sent. What you typed is filled in again, except passwords and files; check it and send it.";
    form.before(told);
    form.dispatchEvent(new Event("change", { bubbles: true }));
  }

  const unsent = store.get();
  if (!unsent) return;
  if (document.querySelector("main [data-not-sent]")) { store.set({ ...unsent, isRefused: true }); return; }
  const isAfterLogIn = document.referrer && new URL(document.referrer).pathname === document.body.dataset.login;
  store.clear();
  if (unsent.page === page && unsent.user === user && (isAfterLogIn || unsent.isRefused)) fillIn(unsent);
})();
