import { HttpClient } from "@angular/common/http";
import { Component, inject } from "@angular/core";
import { toSignal } from "@angular/core/rxjs-interop";
import { RouterLink } from "@angular/router";

type List = { birds: { slug: string; name: string }[] };

@Component({
  imports: [RouterLink],
  template: `@if (list(); as list) {
    <h1>{{ list.birds.length }} birds, listed by angular.</h1>
    <ul>
      @for (bird of list.birds; track bird.slug) {
        <li><a [routerLink]="['/birds', bird.slug]">{{ bird.name }}</a></li>
      }
    </ul>
  }`,
})
export class Birds {
  list = toSignal(inject(HttpClient).get<List>("/data/birds.json"));
}
