import { createApp, h } from "vue";
import { RouterLink, RouterView, createRouter, createWebHashHistory } from "vue-router";
import all from "../birds.json";

const birds = all.slice(0, 8);

const Birds = () => [
  h("h1", `${birds.length} birds, listed by hash.`),
  ...birds.map(({ slug, name }) => h("p", h(RouterLink, { to: `/birds/${slug}` }, () => name))),
];

const Bird = ({ slug }) => {
  const at = birds.findIndex((bird) => bird.slug === slug);
  const { name, text } = birds[at];
  const next = birds[(at + 1) % birds.length].slug;
  return [
    h("p", `${name}, shown by hash: ${text}.`),
    h(RouterLink, { to: `/birds/${next}` }, () => "Next"),
  ];
};
Bird.props = ["slug"];

const About = () => h("p", `Some ${"birds"}, explained by hash.`);

// The router takes a function without a name to display for one that loads a component.
Birds.displayName = "Birds";
About.displayName = "About";

const App = () => [
  h("nav", [
    h(RouterLink, { to: "/" }, () => "Birds"),
    " ",
    h(RouterLink, { to: "/about" }, () => "About"),
  ]),
  h(RouterView),
];

const routes = [
  { path: "/", component: Birds },
  { path: "/about", component: About },
  { path: "/birds/:slug", component: Bird, props: true },
];
createApp(App).use(createRouter({ history: createWebHashHistory(), routes })).mount("#app");
