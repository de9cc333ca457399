// Draws each `figure.chart` from the numbers in its own table, which stays for whoever prefers to read them.
"use strict";
(() => {
  const HEIGHT = 190;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let drawn = [];

  function read(table) {
    const heads = [...table.querySelectorAll("thead th")].slice(1);
    const rows = [...table.querySelectorAll("tbody tr")];
    const times = rows.map((row) => Date.parse(row.querySelector("time").dateTime) / 1000);
    const lines = heads.map((_, i) => rows.map((row) => Number(row.querySelectorAll("data")[i].value)));
    return { labels: heads.map((head) => [head.textContent, Number(head.dataset.line)]), data: [times, ...lines] };
  }

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    return { text: of("--pico-color"), grid: of("--pico-muted-border-color"), lines: [of("--state-busy"), of("--state-bad"), of("--state-good")] };
  }

  // As the tables have it: 24 hours, UTC.
  function clock(seconds, step) {
    const text = new Date(seconds * 1000).toISOString();
    return step < 86400 ? text.slice(11, 16) : text.slice(0, 10);
  }

  function options(labels, width) {
    const { text, grid, lines } = colours();
    const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px system-ui" };
    return {
      width,
      height: HEIGHT,
      tzDate: (seconds) => uPlot.tzDate(new Date(seconds * 1000), "Etc/UTC"),
      scales: { y: { range: (_, least, most) => [Math.min(0, least), Math.max(1, most * 1.05)] } },
      axes: [{ ...axis, values: (_, ticks, __, ___, step) => ticks.map((tick) => clock(tick, step)) }, { ...axis, size: 72 }],
      cursor: { drag: { x: false, y: false } },
      series: [
        { value: "{YYYY}-{MM}-{DD} {HH}:{mm}" },
        ...labels.map(([label, line]) => ({ label, stroke: lines[line], width: 1.5, dash: line === 1 ? [6, 3] : undefined, points: { show: false } })),
      ],
    };
  }

  // A chart is no news to who cannot see it: its table has the same numbers.
  function draw(figure) {
    const table = figure.querySelector("table");
    if (!table || table.querySelectorAll("tbody tr").length < 2) return;
    const place = document.createElement("div");
    place.className = "drawing";
    place.setAttribute("aria-hidden", "true");
    figure.prepend(place);
    const { labels, data } = read(table);
    const chart = new uPlot(options(labels, place.clientWidth), data, place);
    const observer = new ResizeObserver(() => chart.setSize({ width: place.clientWidth, height: HEIGHT }));
    observer.observe(place);
    drawn.push(() => { observer.disconnect(); chart.destroy(); place.remove(); });
  }

  function drawAll() {
    drawn.forEach((remove) => remove());
    drawn = [];
    document.querySelectorAll("figure.chart").forEach(draw);
  }

  drawAll();
  dark.addEventListener("change", drawAll);
  document.body.addEventListener("htmx:afterSwap", drawAll);
})();
