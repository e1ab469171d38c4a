// The bounds against time.
import {button, element} from "./dom.js";
import {duration, isNumber, significant} from "./format.js";
import {axis, numbersOf, Plot, seriesColour, seriesDash, yAxis} from "./plots.js";
import {quantity} from "./text.js";

const NAMES = ["upper", "dual", "lower"];
const SETTLED = 0.1;  // the first tenth of a curve, whose values say little

export class Convergence {
  constructor(summary, theme) {
    const records = (summary.iterations ?? []).filter((record) => isNumber(record.seconds))
      .sort((a, b) => a.seconds - b.seconds);
    this.usable = records.length > 1 && records.some((record) => NAMES.some((name) => isNumber(record[name])));
    if (!this.usable) return;
    this.seconds = records.map((record) => record.seconds);
    this.curves = NAMES.map((name) => records.map((record) => isNumber(record[name]) ? record[name] : null));
    this.names = NAMES.map((name) => name);
    // Solvers that compute a lower bound only at the end have no curve of it: draw a line.
    if (this.curves[2].every((value) => value === null) && isNumber(summary.lower)) {
      this.curves[2] = records.map(() => summary.lower);
      this.names[2] = "lower (at the end)";
    }
    this.axisLabel = summary.temperature === 0 ? "minus the energy" : quantity(summary.temperature);
    this.logarithmic = false;
    this.all = false;
    const last = (k) => this.curves[k].filter((value) => value !== null).pop();
    const ends = this.names.map((name, k) => last(k) === undefined ? null : `${name} ends at ${significant(last(k), 7)}`);
    this.plot = new Plot(`Bounds over ${duration(this.seconds[this.seconds.length - 1])}: ${ends.filter(Boolean).join(", ")}`, 360, theme);
    this.node = this.build();
  }

  build() {
    const pressed = (node, value) => node.setAttribute("aria-pressed", String(value));
    const toggle = (text, key) => {
      const node = button(text, () => {
        this[key] = !this[key];
        pressed(node, this[key]);
        this.start();
      }, {"aria-pressed": "false", "data-toggle": key});
      return node;
    };
    const shown = NAMES.map((_, k) => k).filter((k) => this.has(k));
    return element("section", {id: "convergence", "aria-labelledby": "convergence-title"},
      element("div", {class: "heading"}, element("h2", {id: "convergence-title"}, "Convergence"),
        element("div", {class: "buttons"}, toggle("Log seconds", "logarithmic"), toggle("Show all", "all"))),
      this.plot.node,
      element("p", {class: "plot-note small muted"},
        this.has(1) ? "No upper bound of this relaxation can be below the dual value, so upper and dual meet at its best; "
          + "the dual value is no bound on log Z. " : "",
        "The range of the axis leaves out the first tenth of every curve unless all is shown. Drag to enlarge a part, double "
          + "click to go back."),
      numbersOf({label: "seconds", values: this.seconds},
        shown.map((k) => ({name: this.names[k], values: this.curves[k]})), this.seconds.map((_, k) => k)));
  }

  has(k) {
    return this.curves[k].some((value) => value !== null);
  }

  start() {
    const shown = NAMES.map((_, k) => k).filter((k) => this.has(k));
    const kept = this.seconds.map((_, k) => k).filter((k) => !this.logarithmic || this.seconds[k] > 0);
    const data = [kept.map((k) => this.seconds[k]), ...shown.map((curve) => kept.map((k) => this.curves[curve][k]))];
    this.plot.draw({
      scales: {x: {time: false, distr: this.logarithmic ? 3 : 1}, y: {range: (u, low, high) => this.range(u, low, high)}},
      axes: [axis("seconds", this.logarithmic ? {values: (u, splits) => splits.map((v) => v === null ? "" : significant(v, 3))} : {}),
             yAxis(this.axisLabel)],
      series: [{}, ...shown.map((k) => ({stroke: seriesColour(k), dash: seriesDash(k), width: 2, spanGaps: true, points: {show: false}}))],
    }, data, ["seconds", ...shown.map((k) => this.names[k])], shown);
  }

  /** Of the settled part, unless all is asked for or a part was dragged open. */
  range(u, low, high) {
    if (!this.all && !this.dragged(u)) {
      const values = this.curves.flatMap(settled);
      if (values.length > 0) {
        low = values.reduce((a, b) => Math.min(a, b));
        high = values.reduce((a, b) => Math.max(a, b));
      }
    }
    if (low === null || high === null) return [0, 1];
    const air = 0.05 * (high - low) || Math.max(1e-6, 1e-6 * Math.abs(high));
    return [low - air, high + air];
  }

  /** Whether only a part of the time is in sight. */
  dragged(u) {
    const {min, max} = u.scales.x;
    const xs = u.data[0];
    return isNumber(min) && isNumber(max) && (min > xs[0] || max < xs[xs.length - 1]);
  }
}

/** The values of a curve after its beginning. */
function settled(curve) {
  const values = curve.filter((value) => value !== null);
  return values.slice(values.length < 3 ? 0 : Math.ceil(SETTLED * values.length));
}
