// Builds every site into out/built/ and the licences of its packages into out/licences/.
import { execFileSync } from "node:child_process";
import * as fs from "node:fs";
import path from "node:path";
import { svelte } from "@sveltejs/vite-plugin-svelte";
import vue from "@vitejs/plugin-vue";
import { build } from "vite";
import all from "./birds.json" with { type: "json" };

const VITE = { react: [], vue: [vue()], svelte: [svelte()], htmx: [], lit: [], shadow: [] };
Object.assign(VITE, { scroll: [], hash: [vue()], half: [] });
// The packages in the files of Next that browsers load, after its source maps. Next has copies of
// some.
const COPIES = "next/dist/compiled";
const OF_NEXT = [
  "@swc/helpers",
  "next",
  "react",
  "react-dom",
  "scheduler",
  `${COPIES}/process`,
  `${COPIES}/react-server-dom-turbopack`,
];

function write(file, text) {
  fs.mkdirSync(path.dirname(`out/${file}`), { recursive: true });
  fs.writeFileSync(`out/${file}`, text);
}

function writeJson(site, name, value) {
  write(`built/${site}/data/${name}.json`, JSON.stringify(value));
}

// One file for each bird, which names the one after it.
function writeBirds(site, birds) {
  birds.forEach(({ slug, name, text }, at) => {
    writeJson(site, slug, { name, text, next: birds[(at + 1) % birds.length].slug });
  });
}

// One file for each four birds, which names the file after it.
function writeParts(site, birds) {
  for (let at = 0, number = 1; at < birds.length; at += 4, number += 1) {
    const next = at + 4 < birds.length ? number + 1 : null;
    writeJson(site, `birds-${number}`, { birds: named(birds.slice(at, at + 4)), next });
  }
}

function named(birds) {
  return birds.map(({ slug, name }) => ({ slug, name }));
}

function writeLicences(site, folders) {
  const texts = [...folders].sort().map((folder) => {
    const about = JSON.parse(fs.readFileSync(`${folder}/package.json`));
    const title = [about.name, about.version, about.license].filter(Boolean).join(" ");
    const files = fs.readdirSync(folder).filter((file) => /^licen[cs]e(\.\w+)?$/i.test(file));
    if (files.length !== 1) throw new Error(`${folder} has ${files.length} licences`);
    const text = fs.readFileSync(`${folder}/${files[0]}`, "utf8");
    return `Package: ${title}\n\n${text.trim()}\n`;
  });
  write(`licences/${site}.txt`, texts.join(`\n${"-".repeat(72)}\n\n`));
}

function packageOf(id) {
  return /^\0?(.*\/node_modules\/(?:@[^/]+\/)?[^/]+)\//.exec(id)?.[1];
}

// Adds the folder of each package of which some code is in the bundle, or that the site imports: a
// package may only hand on what others have.
function packages(folders) {
  return {
    name: "packages",
    generateBundle(_, bundle) {
      const inside = Object.values(bundle).flatMap((chunk) => Object.keys(chunk.modules ?? {}));
      const imported = [...this.getModuleIds()].filter((id) =>
        this.getModuleInfo(id).importers.some((importer) => !packageOf(importer)),
      );
      for (const id of [...inside, ...imported]) if (packageOf(id)) folders.add(packageOf(id));
    },
  };
}

async function buildWithVite(site, plugins) {
  const folders = new Set();
  await build({
    root: site,
    configFile: false,
    logLevel: "error",
    esbuild: { jsx: "automatic" },
    plugins: [...plugins, packages(folders)],
    build: {
      outDir: `../out/built/${site}`,
      emptyOutDir: true,
      modulePreload: { polyfill: false },
      rollupOptions: { input: path.resolve(site, site === "half" ? "shop.html" : "index.html") },
    },
  });
  if (site !== "shadow") writeLicences(site, folders);
}

function buildAngular() {
  execFileSync("npx", ["ng", "build"], { cwd: "angular", stdio: "inherit" });
  fs.renameSync("angular/dist/browser", "out/built/angular");
  fs.renameSync("angular/dist/3rdpartylicenses.txt", "out/licences/angular.txt");
}

function buildNext() {
  const env = { ...process.env, NEXT_TELEMETRY_DISABLED: "1" };
  execFileSync("npx", ["next", "build", "next"], { env, stdio: "inherit" });
  fs.renameSync("next/out", "out/built/next");
  withoutPolyfills("out/built/next");
  writeLicences("next", OF_NEXT.map((name) => `node_modules/${name}`));
}

// A file for browsers without modules, a tenth of all bytes.
function withoutPolyfills(folder) {
  const polyfills = /<script src="([^"]*)" noModule=""><\/script>/;
  for (const file of fs.readdirSync(folder, { recursive: true })) {
    if (file.endsWith(".html")) {
      const page = fs.readFileSync(`${folder}/${file}`, "utf8");
      fs.rmSync(`${folder}${polyfills.exec(page)[1]}`, { force: true });
      fs.writeFileSync(`${folder}/${file}`, page.replace(polyfills, ""));
    }
  }
}

function writeFragments() {
  const birds = all.slice(0, 12);
  const page = fs.readFileSync("out/built/htmx/index.html", "utf8");
  const home = '<nav><a href="/">Birds</a></nav>';
  for (let at = 0, number = 1; at < birds.length; at += 4, number += 1) {
    const links = birds
      .slice(at, at + 4)
      .map(({ slug, name }) => `<p><a href="/birds/${slug}.html">${name}</a></p>`);
    const next = `hx-get="/fragments/birds-${number + 1}.html" hx-swap="outerHTML"`;
    const button = `<button ${next}>Load more</button>`;
    const more = at + 4 < birds.length ? button : "";
    const title = `<h1>Part ${number} of the birds, listed by htmx.</h1>`;
    const head = number === 1 ? home : "";
    write(`built/htmx/fragments/birds-${number}.html`, head + title + links.join("") + more);
  }
  birds.forEach(({ slug, name, text }, at) => {
    const next = `<a href="/birds/${birds[(at + 1) % birds.length].slug}.html">Next</a>`;
    const sentence = `<p>${name}, shown by htmx: ${text}.</p>`;
    write(`built/htmx/fragments/${slug}.html`, home + sentence + next);
    write(`built/htmx/birds/${slug}.html`, page.replace("birds-1.html", `${slug}.html`));
  });
}

function plainPage(title, body) {
  return `<!doctype html>
<html lang="en">
<head><meta charset="utf-8"><title>${title}</title><link rel="icon" href="data:,"></head>
<body>${body}</body>
</html>
`;
}

function writeStaticHalf() {
  const [articles, goods] = [all.slice(0, 8), all.slice(8)];
  const links = [
    ...articles.map(({ slug, name }) => `<p><a href="/articles/${slug}.html">${name}</a></p>`),
    ...goods.map(({ slug, name }) => `<p><a href="/shop/${slug}">${name}</a></p>`),
  ];
  const title = `<h1>${all.length} birds, listed by half.</h1>`;
  write("built/half/index.html", plainPage("Birds (half)", title + links.join("")));
  articles.forEach(({ slug, name, text }, at) => {
    const next = `/articles/${articles[(at + 1) % articles.length].slug}.html`;
    const body = `<p>${name}, shown by half: ${text}.</p>
<a href="/">Birds</a> <a href="${next}">Next</a>`;
    write(`built/half/articles/${slug}.html`, plainPage(name, body));
  });
  writeBirds("half", goods);
}

for (const [site, plugins] of Object.entries(VITE)) await buildWithVite(site, plugins);
buildAngular();
buildNext();
writeFragments();
writeStaticHalf();
for (const [site, birds] of Object.entries({
  react: all.slice(0, 12),
  angular: all.slice(0, 12),
  lit: all.slice(0, 10),
  next: all.slice(6, 12),
})) {
  writeJson(site, "birds", { birds: named(birds) });
  writeBirds(site, birds);
}
for (const [site, birds] of Object.entries({ vue: all.slice(0, 12), scroll: all })) {
  writeParts(site, birds);
  writeBirds(site, birds);
}
