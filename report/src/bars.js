// The marginal distribution of one pixel as bars.
import {drawSoon, element, fitCanvas, themeColour} from "./dom.js";
import {percent} from "./format.js";

const TOPS = [0.05, 0.1, 0.2, 0.5, 1];
const LEFT = 40;
const BOTTOM = 20;
const TOP = 8;

export class MarginalBars {
  /** `colourOf` maps names of labels to colours, where a legend has them. */
  constructor(marginals, colourOf) {
    this.marginals = marginals;
    this.colourOf = colourOf;
    this.entries = [];
    this.mark = null;
    this.canvas = element("canvas", {id: "marginal-bars", role: "img"});
    this.tip = element("span");
    this.node = element("div", {class: "bars"}, this.canvas,
      element("div", {class: "tip"}, this.tip, element("span", {}, marginals.axis)));
    this.drawSoon = drawSoon(() => this.draw());
    new ResizeObserver(this.drawSoon).observe(this.canvas);
    this.canvas.addEventListener("pointermove", (event) => this.point(event));
    this.canvas.addEventListener("pointerleave", () => this.point(null));
  }

  /** `mark` is a place on the axis of the labels, such as the true disparity, or null. */
  show(entries, mark) {
    this.entries = entries;
    this.mark = mark;
    this.hovered = null;
    this.tip.textContent = mark === null ? "" : "\u25bc truth";
    this.drawSoon();
  }

  point(event) {
    this.hovered = null;
    if (event) {
      const box = this.canvas.getBoundingClientRect();
      const label = Math.floor((event.clientX - box.left - LEFT) / ((box.width - LEFT) / this.marginals.labels));
      this.hovered = this.entries.find((entry) => entry.label === label) ?? null;
    }
    const {hovered} = this;
    this.tip.textContent = hovered ? `${this.marginals.names[hovered.label]}: ${percent(hovered.p)}` : "";
    this.drawSoon();
  }

  draw() {
    const {canvas, marginals, entries} = this;
    fitCanvas(canvas);
    const context = canvas.getContext("2d");
    const ratio = canvas.width / canvas.clientWidth;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    const bottom = height - BOTTOM;
    context.clearRect(0, 0, width, height);
    context.font = `12px ${themeColour("--sans")}`;
    const best = entries.reduce((a, b) => (b.p > a.p ? b : a), entries[0]);
    const top = TOPS.find((t) => t >= best.p) ?? 1;
    const y = (p) => bottom - (p / top) * (bottom - TOP);
    this.drawGrid(context, width, top, y);
    const step = (width - LEFT) / marginals.labels;
    const gap = step > 6 ? Math.min(4, step * 0.2) : step > 2 ? 1 : 0;
    for (const entry of entries) {
      const strong = entry === this.hovered || entry === best;
      context.fillStyle = this.colourOf.get(marginals.names[entry.label]) ?? themeColour(strong ? "--accent" : "--bar");
      const high = entry.p > 0 ? Math.max(1, bottom - y(entry.p)) : 0;
      context.fillRect(LEFT + entry.label * step + gap / 2, bottom - high, Math.max(0.5, step - gap), high);
    }
    this.drawNames(context, step, bottom, best);
    if (this.mark !== null) this.drawMark(context, LEFT + (this.mark + 0.5) * step, bottom);
  }

  drawGrid(context, width, top, y) {
    context.textAlign = "right";
    context.textBaseline = "middle";
    for (const share of [0, 0.5, 1]) {
      context.strokeStyle = themeColour(share === 0 ? "--muted" : "--line");
      context.lineWidth = 1;
      context.beginPath();
      context.moveTo(LEFT, Math.round(y(share * top)) + 0.5);
      context.lineTo(width, Math.round(y(share * top)) + 0.5);
      context.stroke();
      context.fillStyle = themeColour("--muted");
      context.fillText(`${100 * share * top}%`, LEFT - 6, y(share * top));
    }
  }

  /** As many names as have room; among names that are no numbers the best has precedence. */
  drawNames(context, step, bottom, best) {
    const {names, numeric, labels} = this.marginals;
    context.textAlign = "center";
    context.textBaseline = "top";
    context.fillStyle = themeColour("--muted");
    const widths = names.map((name) => context.measureText(name).width + 10);
    const widest = Math.max(...widths);
    const end = LEFT + labels * step;
    const put = (k) => {
      const half = widths[k] / 2 - 5;
      const x = Math.min(end - half, Math.max(LEFT + half, LEFT + (k + 0.5) * step));
      context.fillText(names[k], x, bottom + 5);
    };
    if (widest <= step || numeric) {
      const every = [1, 2, 5, 10, 20, 25, 50, 100, 200, 500].find((n) => n * step >= widest) ?? labels;
      for (let k = 0; k < labels; k += every) put(k);
    } else {
      context.fillStyle = themeColour("--ink");
      const {label} = this.hovered ?? best;
      const room = labels * step;
      if (widths[label] <= room) put(label);
    }
  }

  drawMark(context, x, bottom) {
    context.fillStyle = themeColour("--series-2");
    context.strokeStyle = themeColour("--series-2");
    context.beginPath();
    context.moveTo(x - 5, 0);
    context.lineTo(x + 5, 0);
    context.lineTo(x, 8);
    context.fill();
    context.setLineDash([2, 3]);
    context.beginPath();
    context.moveTo(x, 8);
    context.lineTo(x, bottom);
    context.stroke();
    context.setLineDash([]);
  }
}
