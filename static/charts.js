// Draws each `figure.chart` from the numbers in its own table, which stays for whoever prefers to read them; or from
// the columns `data-columns` of the table whose id is in `data-table`.
"use strict";
(() => {
  const HEIGHT = 190;
  const dark = matchMedia("(prefers-color-scheme: dark)");
  let drawn = [];

  function read(table, columns) {
    const all = [...table.querySelectorAll("thead th")].slice(1);
    const places = columns === undefined ? all.map((_, i) => i) : columns.split(" ").map(Number);
    const heads = places.map((place) => all[place]);
    // An interval that is not over yet would draw a cliff at the end; the table has it.
    const rows = [...table.querySelectorAll("tbody tr:not([data-open])")];
    const times = rows.map((row) => Date.parse(row.querySelector("time").dateTime) / 1000);
    const lines = places.map((place) => rows.map((row) => number(row.querySelectorAll("data")[place].value)));
    return { labels: heads.map((head) => [head.textContent, Number(head.dataset.line || 0)]), data: [times, ...lines] };
  }

  // What was not measured has no bar.
  function number(text) {
    return text === "" ? null : Number(text);
  }

  function colours() {
    const style = getComputedStyle(document.documentElement);
    const of = (name) => style.getPropertyValue(name).trim();
    return { text: of("--muted"), grid: of("--line"), lines: [of("--state-busy"), of("--state-bad"), of("--state-good")] };
  }

  // As the tables have it: 24 hours, UTC.
  function clock(seconds, step) {
    const text = new Date(seconds * 1000).toISOString();
    return step < 86400 ? text.slice(11, 16) : text.slice(0, 10);
  }

  // A bar an interval: its height is a sum, and a line would promise what lies between two sums.
  const bars = uPlot.paths.bars({ size: [0.8, 40] });
  const INCREMENTS = [60, 120, 300, 600, 900, 1800, 3600, 7200, 10800, 21600, 43200, 86400, 172800, 604800];

  // `step`: seconds of an interval. `unit`: what the vertical axis counts. Ticks are never closer than that, so no two have the same label.
  function options(labels, times, width, step, { unit, top }) {
    const { text, grid, lines } = colours();
    const axis = { stroke: text, grid: { stroke: grid, width: 1 }, ticks: { stroke: grid, width: 1 }, font: "12px Inter, system-ui" };
    const seconds = {
      ...axis,
      grid: { show: false },
      space: 60,
      size: 32,
      incrs: [...INCREMENTS.filter((increment) => increment >= step), Math.ceil(step)],
      values: (_, ticks, __, ___, increment) => ticks.map((tick) => clock(tick, increment)),
    };
    const moment = (_, at) => (at == null ? "–" : new Date(at * 1000).toISOString().slice(0, 16).replace("T", " "));
    return {
      width,
      height: HEIGHT,
      scales: {
        x: { time: false, range: () => [times[0] - step / 2, times.at(-1) + step / 2] },
        y: { range: (_, least, most) => [Math.min(0, least), Number(top) || Math.max(1, most * 1.05)] },
      },
      axes: [seconds, { ...axis, size: room, label: unit, labelSize: 20, labelGap: 0, labelFont: axis.font, space: 24 }],
      cursor: { drag: { x: false, y: false } },
      // Without a pointer the legend tells of the latest interval.
      hooks: { ready: [latest], setCursor: [(chart) => { if (chart.cursor.idx == null) latest(chart); }] },
      series: [{ label: "Time", value: moment }, ...labels.map(([label, line]) => series(label, lines[line]))],
    };
  }

  // Numbers of the vertical axis stand beside its label, not on it.
  function room(_, values) {
    return 24 + 8 * Math.max(4, ...(values || []).map((value) => String(value).length));
  }

  function latest(chart) {
    chart.setLegend({ idx: chart.data[0].length - 1 });
  }

  function series(label, colour) {
    // Without an outline a bar of zero is not seen: a dash a minute would read as failures.
    return { label, stroke: colour, fill: colour, width: 0, paths: bars, points: { show: false } };
  }

  // A chart is no news to who cannot see it: its table has the same numbers.
  function draw(figure) {
    const table = figure.dataset.table ? document.getElementById(figure.dataset.table) : figure.querySelector("table");
    const isEmpty = figure.querySelector(":scope > .empty");
    if (!table || isEmpty || !table.querySelector("tbody tr:not([data-open])")) return;
    const place = document.createElement("div");
    place.className = "drawing";
    place.setAttribute("aria-hidden", "true");
    const caption = figure.querySelector("figcaption");
    if (caption) caption.after(place);
    else figure.prepend(place);
    const { labels, data } = read(table, figure.dataset.columns);
    const chart = new uPlot(options(labels, data[0], place.clientWidth, 60 * Number(figure.dataset.minutes), figure.dataset), data, place);
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
