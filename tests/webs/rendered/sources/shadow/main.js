import all from "../birds.json";

// Custom elements without a package: three open shadow roots inside each other, and links that an
// outer element shows through the slot of an inner one.
const birds = all.slice(0, 8);

function shadowed(element, markup) {
  element.attachShadow({ mode: "open" }).innerHTML = markup;
}

class BirdRow extends HTMLElement {
  connectedCallback() {
    shadowed(this, `<li><a href="/birds/${this.dataset.slug}">${this.dataset.name}</a></li>`);
  }
}

class BirdRows extends HTMLElement {
  connectedCallback() {
    const rows = birds.map(
      ({ slug, name }) => `<bird-row data-slug="${slug}" data-name="${name}"></bird-row>`,
    );
    shadowed(this, `<slot></slot><ul>${rows.join("")}</ul>`);
  }
}

class BirdSite extends HTMLElement {
  connectedCallback() {
    const at = birds.findIndex(({ slug }) => location.pathname === `/birds/${slug}`);
    const home = '<a href="/">Birds</a>';
    if (at < 0) {
      const title = `${birds.length} birds, listed by shadow.`;
      shadowed(this, `<bird-rows><h1>${title}</h1>${home}</bird-rows>`);
      return;
    }
    const { name, text } = birds[at];
    const next = birds[(at + 1) % birds.length].slug;
    const sentence = `<p>${name}, shown by shadow: ${text}.</p>`;
    shadowed(this, `${home}${sentence}<a href="/birds/${next}">Next</a>`);
  }
}

customElements.define("bird-row", BirdRow);
customElements.define("bird-rows", BirdRows);
customElements.define("bird-site", BirdSite);
