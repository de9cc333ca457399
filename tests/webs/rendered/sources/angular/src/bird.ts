import { HttpClient } from "@angular/common/http";
import { Component, inject } from "@angular/core";
import { toSignal } from "@angular/core/rxjs-interop";
import { ActivatedRoute, RouterLink } from "@angular/router";
import { switchMap } from "rxjs";

type Described = { name: string; text: string; next: string };

@Component({
  imports: [RouterLink],
  template: `@if (bird(); as bird) {
    <h1>{{ bird.name }}</h1>
    <p>{{ bird.name }}, shown by angular: {{ bird.text }}.</p>
    <a [routerLink]="['/birds', bird.next]">Next</a>
  }`,
})
export class Bird {
  private http = inject(HttpClient);
  bird = toSignal(
    inject(ActivatedRoute).params.pipe(
      switchMap(({ slug }) => this.http.get<Described>(`/data/${slug}.json`)),
    ),
  );
}
