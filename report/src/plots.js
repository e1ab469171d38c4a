// Curves and bars by uPlot, in the colours and the width of the page.
import uPlot from "uplot";
import {element, themeColour} from "./dom.js";
import {fixed, significant} from "./format.js";

const DASHES = [[], [8, 5], [2, 4], [10, 4, 2, 4], [4, 4], [1, 3]];
const DIGIT_WIDTH = 7.4;
const BAR_SHARE = 0.8;  // of the distance between neighbouring bars

export const seriesColour = (k) => () => themeColour(`--series-${(k % 6) + 1}`);
export const seriesDash = (k) => DASHES[k % DASHES.length];

/** A plot that follows the width of its place, with a legend that shows the numbers under the pointer. */
export class Plot {
  constructor(label, height, theme) {
    this.height = height;
    this.place = element("div", {role: "img", "aria-label": label});
    this.legend = element("ul", {class: "plot-legend"});
    this.node = element("div", {class: "plot"}, this.place, this.legend);
    new ResizeObserver(() => {
      const width = this.place.clientWidth;
      if (this.plot && width > 0 && width !== this.plot.width) this.plot.setSize({width, height: this.height});
    }).observe(this.place);
    theme.onChange(() => this.plot?.redraw(false, true));
  }

  /**
   * `options` are uPlot's, without size. `names` are those of the rows of the data, the x axis being the first;
   * `styles` number the colours and dashes of the others.
   */
  draw(options, data, names, styles) {
    this.plot?.destroy();
    const values = this.drawLegend(names, styles, options.series[1]);
    this.plot = new uPlot({
      width: Math.max(280, this.place.clientWidth), height: this.height, legend: {show: false},
      cursor: {drag: {x: true, y: false}, points: {size: 7}},
      ...options,
      hooks: {...options.hooks, setCursor: [({cursor}) => {
        const row = cursor.idx;
        values.forEach((node, k) => {
          const value = row === null || row === undefined ? null : data[k][row];
          node.textContent = value === null || value === undefined ? "" : significant(value, k === 0 ? 4 : 7);
        });
        this.legend.classList.toggle("pointed", row !== null && row !== undefined);
      }]},
    }, data, this.place);
  }

  drawLegend(names, styles, {fill, points} = {}) {
    const values = names.map(() => element("span", {class: "value"}));
    this.legend.replaceChildren(...[...styles.entries()].map(([k, style]) => {
      const line = seriesDash(style);
      const kind = fill ? "filled" : points?.show ? "dot" : line.length === 0 ? "solid" : line[0] < 4 ? "dotted" : "dashed";
      const swatch = element("i", {class: kind});
      swatch.style.setProperty("--colour", `var(--series-${(style % 6) + 1})`);
      return element("li", {}, swatch, names[k + 1], " ", values[k + 1]);
    }), element("li", {class: "x"}, `at ${names[0]} `, values[0]));
    return values;
  }
}

/** An axis whose numbers have as many decimals as their distance needs. */
export function axis(label, more = {}) {
  return {
    label,
    stroke: () => themeColour("--muted"),
    grid: {stroke: () => themeColour("--grid"), width: 1},
    ticks: {stroke: () => themeColour("--line"), width: 1, size: 5},
    font: "12px system-ui, sans-serif",
    labelFont: "13px system-ui, sans-serif",
    labelSize: 22,
    labelGap: 0,
    size: 32,
    values: (plot, splits, index, space, step) => splits.map((value) => {
      if (value === null) return "";
      return step ? fixed(value, decimalsOf(step)) : significant(value, 3);
    }),
    ...more,
  };
}

/** As many as multiples of the step need: 1 for 2.5, none for 20. */
function decimalsOf(step) {
  for (let decimals = 0; decimals < 9; ++decimals) {
    const scaled = step * 10 ** decimals;
    if (Math.abs(scaled - Math.round(scaled)) < 1e-6 * scaled) return decimals;
  }
  return 9;
}

/** As wide as its longest number. */
export function yAxis(label) {
  return axis(label, {size: (plot, values) => 16 + DIGIT_WIDTH * Math.max(2, ...(values ?? []).map((text) => text.length))});
}

/** Plots of the summary's page: {title, x, y, series, diagonal, style}. */
export function pagePlot({title, x, y, series, diagonal, style}, theme) {
  const order = x.values.map((_, k) => k).filter((k) => x.values[k] !== null).sort((a, b) => x.values[a] - x.values[b]);
  const data = [order.map((k) => x.values[k]), ...series.map(({values}) => order.map((k) => values[k]))];
  const plot = new Plot(`${title ?? "Plot"}: ${series.map(({name}) => name).join(", ")} against ${x.label ?? "x"}`, 300, theme);
  const node = element("div", {}, element("h3", {}, title ?? ""), plot.node, numbersOf(x, series, order));
  const options = {
    scales: {x: {time: false, range: xRange(data[0], style)}, y: {range: yRange(data, style, diagonal)}},
    axes: [axis(x.label ?? "", {}), yAxis(y?.label ?? "")],
    series: [{}, ...series.map((_, k) => seriesOptions(k, style, series.length))],
    hooks: diagonal ? {drawAxes: [drawDiagonal]} : {},
  };
  const names = [x.label ?? "x", ...series.map(({name}) => name ?? "")];
  return {node, start: () => plot.draw(options, data, names, series.map((_, k) => k))};
}

function seriesOptions(k, style, count) {
  const points = {show: style === "points", size: 7, fill: seriesColour(k)};
  const options = {stroke: seriesColour(k), width: 2, dash: seriesDash(k), points};
  if (style === "points") options.paths = () => null;
  if (style === "bars") Object.assign(options, {paths: groupedBars(k, count), fill: seriesColour(k), dash: [], width: 0});
  return options;
}

/** Bars of several series side by side. */
function groupedBars(series, count) {
  return (u, index, first, last) => {
    const [xs, ys] = [u.data[0], u.data[index]];
    const slot = smallestStep(xs) * BAR_SHARE;
    const fill = new Path2D();
    const zero = u.valToPos(Math.max(0, u.scales.y.min), "y", true);
    for (let k = first; k <= last; ++k) {
      if (ys[k] === null || ys[k] === undefined) continue;
      const left = u.valToPos(xs[k] - slot / 2 + (slot * series) / count, "x", true);
      const right = u.valToPos(xs[k] - slot / 2 + (slot * (series + 1)) / count, "x", true);
      const top = u.valToPos(ys[k], "y", true);
      fill.rect(left, Math.min(top, zero), Math.max(1, right - left - 1), Math.abs(zero - top));
    }
    return {fill, stroke: null, clip: null, band: null, gaps: null, flags: 1};
  };
}

function smallestStep(xs) {
  let step = Infinity;
  for (let k = 1; k < xs.length; ++k) if (xs[k] > xs[k - 1]) step = Math.min(step, xs[k] - xs[k - 1]);
  return Number.isFinite(step) ? step : 1;
}

function xRange(xs, style) {
  const pad = style === "bars" ? smallestStep(xs) / 2 : 0;
  return (u, low, high) => low === high ? [low - 1, high + 1] : [low - pad, high + pad];
}

/** Bars begin at zero and a diagonal wants both axes alike; otherwise a little air. */
function yRange(data, style, diagonal) {
  return (u, low, high) => {
    if (low === null || high === null) return [0, 1];
    if (style === "bars") low = Math.min(0, low);
    if (diagonal) [low, high] = [Math.min(low, data[0][0]), Math.max(high, data[0][data[0].length - 1])];
    const air = 0.04 * (high - low) || 0.5;
    return [low === 0 ? 0 : low - air, high + air];
  };
}

function drawDiagonal(u) {
  const low = Math.max(u.scales.x.min, u.scales.y.min);
  const high = Math.min(u.scales.x.max, u.scales.y.max);
  u.ctx.save();
  u.ctx.strokeStyle = themeColour("--muted");
  u.ctx.setLineDash([4 * devicePixelRatio, 4 * devicePixelRatio]);
  u.ctx.lineWidth = devicePixelRatio;
  u.ctx.beginPath();
  u.ctx.moveTo(u.valToPos(low, "x", true), u.valToPos(low, "y", true));
  u.ctx.lineTo(u.valToPos(high, "x", true), u.valToPos(high, "y", true));
  u.ctx.stroke();
  u.ctx.restore();
}

const MAX_TABLE_ROWS = 200;

/** The same numbers as a table, made when it is opened. */
export function numbersOf(x, series, order) {
  const body = element("tbody");
  const step = Math.ceil(order.length / MAX_TABLE_ROWS);
  const details = element("details", {class: "small muted"}, element("summary", {}, "As a table"),
    element("div", {class: "table-scroll", tabindex: "0", role: "group", "aria-label": "numbers of the plot"},
      element("table", {class: "grid"},
        element("thead", {}, element("tr", {}, [x.label ?? "x", ...series.map(({name}) => name)].map((text) =>
          element("th", {scope: "col"}, text)))),
        body)));
  details.addEventListener("toggle", () => {
    if (body.childElementCount > 0) return;
    for (let k = 0; k < order.length; k += step) {
      body.append(element("tr", {}, [x.values, ...series.map(({values}) => values)].map((values) =>
        element("td", {}, values[order[k]] === null || values[order[k]] === undefined ? "" : significant(values[order[k]], 7)))));
    }
  });
  return details;
}
