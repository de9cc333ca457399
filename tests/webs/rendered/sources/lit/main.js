import { LitElement, html } from "lit";

async function read(name) {
  const answer = await fetch(`/data/${name}.json`);
  return answer.json();
}

class BirdLink extends LitElement {
  static properties = { slug: {}, label: {} };

  render() {
    return html`<a href=${`/birds/${this.slug}`}>${this.label}</a>`;
  }
}

class BirdList extends LitElement {
  static properties = { birds: { state: true } };

  async connectedCallback() {
    super.connectedCallback();
    this.birds = (await read("birds")).birds;
  }

  render() {
    if (!this.birds) return html`<p>Loading</p>`;
    const rows = this.birds.map(
      ({ slug, name }) => html`<bird-link slug=${slug} label=${name}></bird-link> `,
    );
    return html`<h1>${`${this.birds.length} birds, listed by lit.`}</h1>
      ${rows}`;
  }
}

class BirdDetail extends LitElement {
  static properties = { slug: {}, bird: { state: true } };

  async connectedCallback() {
    super.connectedCallback();
    this.bird = await read(this.slug);
  }

  render() {
    if (!this.bird) return html`<p>Loading</p>`;
    const { name, text, next } = this.bird;
    return html`<p>${`${name}, shown by lit: ${text}.`}</p>
      <bird-link slug=${next} label="Next"></bird-link>`;
  }
}

class BirdPage extends LitElement {
  render() {
    const slug = location.pathname.split("/birds/")[1];
    return html`<nav><a href="/">Birds</a></nav>
      ${slug ? html`<bird-detail slug=${slug}></bird-detail>` : html`<bird-list></bird-list>`}`;
  }
}

customElements.define("bird-link", BirdLink);
customElements.define("bird-list", BirdList);
customElements.define("bird-detail", BirdDetail);
customElements.define("bird-page", BirdPage);
