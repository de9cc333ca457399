import { createApp } from "vue";
import { createRouter, createWebHistory } from "vue-router";
import App from "./App.vue";
import Bird from "./Bird.vue";
import Birds from "./Birds.vue";

const routes = [
  { path: "/", component: Birds },
  { path: "/birds/:slug", component: Bird },
];
createApp(App).use(createRouter({ history: createWebHistory(), routes })).mount("#app");
