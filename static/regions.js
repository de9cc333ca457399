// Rectangles that are drawn on a picture become lines of the field of ignored regions. Without scripts they are typed.
"use strict";
(() => {
  const field = document.getElementById("ignored_regions"), board = document.getElementById("regions"), picture = board.querySelector("img");
  document.getElementById("draws").hidden = false;
  let from = null, drawn = null;

  const scale = () => picture.naturalWidth / picture.clientWidth || 1;
  const rectangles = () => field.value.split("\n").map((line) => line.split(/[ ,]+/).filter(Boolean).map(Number)).filter((one) => one.length === 4 && one.every(Number.isFinite));

  function draw(rectangle) {
    const box = document.createElement("span"), [left, top, width, height] = rectangle.map((side) => side / scale());
    Object.assign(box.style, { left: `${left}px`, top: `${top}px`, width: `${width}px`, height: `${height}px` });
    board.append(box);
    return box;
  }
  function show() {
    board.querySelectorAll("span").forEach((box) => box.remove());
    rectangles().forEach(draw);
  }
  const at = (event) => {
    const place = picture.getBoundingClientRect();
    return [Math.max(0, Math.min(event.clientX - place.left, place.width)), Math.max(0, Math.min(event.clientY - place.top, place.height))];
  };
  function between([x, y], [u, v]) {
    return [Math.min(x, u), Math.min(y, v), Math.abs(x - u), Math.abs(y - v)].map((side) => Math.round(side * scale()));
  }

  board.addEventListener("pointerdown", (event) => { from = at(event); board.setPointerCapture(event.pointerId); });
  board.addEventListener("pointermove", (event) => {
    if (!from) return;
    drawn?.remove();
    drawn = draw(between(from, at(event)));
  });
  board.addEventListener("pointerup", (event) => {
    const rectangle = from && between(from, at(event));
    from = drawn = null;
    if (rectangle && rectangle[2] > 3 && rectangle[3] > 3) field.value = [field.value.trim(), rectangle.join(" ")].filter(Boolean).join("\n");
    show();
  });
  field.addEventListener("input", show);
  addEventListener("resize", show);
  picture.addEventListener("load", show);
  show();
})();
