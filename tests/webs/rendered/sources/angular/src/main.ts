import { provideHttpClient, withFetch } from "@angular/common/http";
import { Component } from "@angular/core";
import { bootstrapApplication } from "@angular/platform-browser";
import { RouterLink, RouterOutlet, provideRouter } from "@angular/router";

@Component({
  selector: "app-root",
  imports: [RouterLink, RouterOutlet],
  template: `<nav><a routerLink="/">Birds</a> <a routerLink="/about">About</a></nav>
    <router-outlet />`,
})
class App {}

@Component({ template: `<p>{{ sentence }}</p>` })
class About {
  sentence = `Some ${["birds"].join()}, explained by angular.`;
}

const routes = [
  { path: "", loadComponent: () => import("./birds").then((file) => file.Birds) },
  { path: "about", component: About },
  { path: "birds/:slug", loadComponent: () => import("./bird").then((file) => file.Bird) },
];
bootstrapApplication(App, { providers: [provideHttpClient(withFetch()), provideRouter(routes)] });
