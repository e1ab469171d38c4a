// One picture: drawn through the shared view, with the shared cursor, and a way to move both.
import {drawSoon, element, fitCanvas} from "./dom.js";
import {percent, significant} from "./format.js";

const WHEEL_ZOOM = 1.0015;
const KEY_ZOOM = 1.5;
const CLICK_DISTANCE = 4;  // CSS pixels; a pointer that moved farther was dragged
const ARROWS = {ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1]};

export class Panel {
  /** `source` is an image or a canvas of the size of the view, or a function from slices to such. */
  constructor({name, scale, legend}, source, view, colours) {
    this.source = source;
    this.view = view;
    this.pointers = new Map();
    this.canvas = element("canvas", {
      tabindex: "0", role: "application", "aria-roledescription": "zoomable picture", "aria-describedby": "keys",
      "aria-label": `${name}, ${view.width} by ${view.height} pixels`, "data-panel": name,
    });
    this.canvas.style.aspectRatio = `${view.width} / ${view.height}`;
    this.node = element("figure", {class: "panel"},
      element("div", {class: "heading"}, element("h3", {}, name), scale && scaleBar(scale, colours)),
      this.canvas, this.controls(), legend && legendList(legend));
    this.drawSoon = drawSoon(() => this.draw());
    view.onChange(this.drawSoon);
    new ResizeObserver(this.drawSoon).observe(this.canvas);
    this.listen();
  }

  /** CSS pixels per pixel of the picture when all of it is in sight. */
  get fit() {
    return Math.min(this.canvas.clientWidth / this.view.width, this.canvas.clientHeight / this.view.height);
  }

  /** The point of the picture below a point of the window. */
  pointAt({clientX, clientY}) {
    const box = this.canvas.getBoundingClientRect();
    const size = this.fit * this.view.zoom;
    return [this.view.centreX + (clientX - box.left - box.width / 2) / size,
            this.view.centreY + (clientY - box.top - box.height / 2) / size];
  }

  draw() {
    const {canvas, view} = this;
    if (canvas.clientWidth === 0) return;  // hidden
    fitCanvas(canvas);
    canvas.classList.toggle("zoomed", view.zoom > 1);
    const ratio = canvas.width / canvas.clientWidth;
    const size = this.fit * view.zoom * ratio;
    const left = canvas.width / 2 - view.centreX * size;
    const top = canvas.height / 2 - view.centreY * size;
    const context = canvas.getContext("2d");
    context.clearRect(0, 0, canvas.width, canvas.height);
    context.imageSmoothingEnabled = size < 1.5;
    context.imageSmoothingQuality = "high";
    this.paint(context, left, top, view.width * size, view.height * size);
    if (view.pointed) drawCross(context, left + view.x * size, top + view.y * size, size, ratio, view.pinned);
    canvas.dataset.zoom = view.zoom.toFixed(4);
    canvas.dataset.centre = `${view.centreX.toFixed(3)} ${view.centreY.toFixed(3)}`;
  }

  paint(context, ...box) {
    context.drawImage(typeof this.source === "function" ? this.source(this.view.slice) : this.source, ...box);
  }

  controls() {
    return null;
  }

  listen() {
    const {canvas, view} = this;
    canvas.addEventListener("pointerdown", (event) => this.pointerDown(event));
    canvas.addEventListener("pointermove", (event) => this.pointerMove(event));
    canvas.addEventListener("pointerup", (event) => this.pointerUp(event));
    canvas.addEventListener("pointercancel", (event) => this.forget(event));
    canvas.addEventListener("dblclick", () => view.reset());
    canvas.addEventListener("keydown", (event) => this.keyDown(event));
    canvas.addEventListener("wheel", (event) => {
      if (event.deltaY > 0 && view.zoom <= 1) return;  // nothing to zoom out of: the page scrolls
      event.preventDefault();
      const pixels = event.deltaY * (event.deltaMode === 1 ? 30 : 1) * (event.ctrlKey ? 6 : 1);
      view.zoomBy(WHEEL_ZOOM ** -pixels, this.fit, ...this.pointAt(event));
    }, {passive: false});
  }

  pointerDown(event) {
    if (event.button !== 0) return;
    this.canvas.setPointerCapture(event.pointerId);
    this.pointers.set(event.pointerId, {x: event.clientX, y: event.clientY, startX: event.clientX, startY: event.clientY});
    this.dragged = this.pointers.size > 1;
  }

  pointerMove(event) {
    const {view} = this;
    const pointer = this.pointers.get(event.pointerId);
    if (!pointer) {
      if (!view.pinned) view.moveCursor(...this.pointAt(event));
      return;
    }
    const before = this.pinchState();
    const [dx, dy] = [event.clientX - pointer.x, event.clientY - pointer.y];
    pointer.x = event.clientX;
    pointer.y = event.clientY;
    if (Math.hypot(pointer.x - pointer.startX, pointer.y - pointer.startY) > CLICK_DISTANCE) this.dragged = true;
    if (!this.dragged) return;
    this.canvas.classList.add("dragging");
    if (this.pointers.size >= 2) {
      const after = this.pinchState();
      view.zoomBy(after.distance / Math.max(1, before.distance), this.fit, ...this.pointAt(before));
      const size = this.fit * view.zoom;
      view.panBy((before.clientX - after.clientX) / size, (before.clientY - after.clientY) / size);
    } else if (view.zoom > 1) {
      const size = this.fit * view.zoom;
      view.panBy(-dx / size, -dy / size);
    } else if (!view.pinned) {
      view.moveCursor(...this.pointAt(event));
    }
  }

  pinchState() {
    const [a, b] = [...this.pointers.values()];
    if (!b) return null;
    return {clientX: (a.x + b.x) / 2, clientY: (a.y + b.y) / 2, distance: Math.hypot(a.x - b.x, a.y - b.y)};
  }

  pointerUp(event) {
    const clicked = this.pointers.has(event.pointerId) && !this.dragged;
    this.forget(event);
    if (!clicked) return;
    const {view} = this;
    if (event.pointerType === "mouse") view.pin(!view.pinned);
    view.moveCursor(...this.pointAt(event));
  }

  forget(event) {
    this.pointers.delete(event.pointerId);
    if (this.pointers.size === 0) this.canvas.classList.remove("dragging");
  }

  keyDown(event) {
    const {view} = this;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.key in ARROWS) {
      const [dx, dy] = ARROWS[event.key];
      const step = event.shiftKey ? 10 : 1;
      view.stepCursor(step * dx, step * dy);
    } else if (event.key === "+" || event.key === "=") {
      view.zoomBy(KEY_ZOOM, this.fit);
    } else if (event.key === "-" || event.key === "_") {
      view.zoomBy(1 / KEY_ZOOM, this.fit);
    } else if (event.key === "0") {
      view.reset();
    } else if (event.key === "Escape") {
      view.pin(false);
    } else if (event.key === "Enter" || event.key === " ") {
      view.pin(!view.pinned);
    } else {
      return;
    }
    event.preventDefault();
  }
}

/** Lines up to a little before the pixel, white on dark so that they are seen on any picture. */
function drawCross(context, left, top, size, ratio, pinned) {
  const {width, height} = context.canvas;
  const gap = Math.max(size / 2, 5 * ratio);
  const half = (Math.round(ratio) % 2) / 2;  // lines of odd width are sharp between the pixels of the screen
  const [x, y] = [Math.floor(left + size / 2) + half, Math.floor(top + size / 2) + half];
  const cross = new Path2D();
  for (const [x0, y0, x1, y1] of [[0, y, x - gap, y], [x + gap, y, width, y], [x, 0, x, y - gap], [x, y + gap, x, height]]) {
    cross.moveTo(x0, y0);
    cross.lineTo(x1, y1);
  }
  if (size >= 4 * ratio) cross.rect(Math.floor(left) + half, Math.floor(top) + half, Math.round(size), Math.round(size));
  if (pinned) cross.arc(x, y, gap + 4 * ratio, 0, 2 * Math.PI);
  context.lineWidth = 3 * Math.round(ratio);
  context.strokeStyle = "rgb(0 0 0 / 50%)";
  context.stroke(cross);
  context.lineWidth = Math.round(ratio);
  context.strokeStyle = "#fff";
  context.stroke(cross);
}

function scaleBar({low, high, unit}, colours) {
  const ramp = element("span", {class: "ramp"});
  ramp.style.background = colours.gradient();
  const end = `${significant(high, 3)}${unit ? " " + unit : ""}`;
  return element("div", {class: "scale", role: "img", "aria-label": `colours from ${significant(low, 3)} to ${end}`},
    significant(low, 3), ramp, end);
}

function legendList(legend) {
  return element("ul", {class: "legend"}, legend.map(({name, colour, share}) => {
    const swatch = element("i");
    swatch.style.background = colour;
    return element("li", {}, swatch, String(name), typeof share === "number" ? ` ${percent(share)}` : "");
  }));
}
