// The numbers of the pixel under the cursor, for eyes and for screen readers.
import {MarginalBars} from "./bars.js";
import {drawSoon, element} from "./dom.js";
import {percent, significant} from "./format.js";

const BEST = 3;
const QUIET_MILLISECONDS = 350;  // a screen reader hears of a pixel once the cursor rests there

export class Readout {
  constructor(view, values, marginals, colourOf) {
    this.view = view;
    this.values = values;
    this.marginals = marginals;
    this.pixel = element("dd", {id: "readout-pixel"});
    this.valueNodes = values.map(({name}) => element("dd", {"data-value": name}));
    this.live = element("p", {class: "hidden-visually", id: "readout-live", role: "status"});
    const numbers = element("dl", {class: "numbers"}, element("dt", {}, "pixel"), this.pixel,
      values.flatMap(({name}, k) => [element("dt", {}, name), this.valueNodes[k]]));
    this.node = element("div", {class: marginals ? "readout idle" : "readout alone idle", id: "readout"}, this.live,
      element("p", {class: "hint"}, "Point at a pixel to see its numbers here."));
    if (marginals) {
      this.best = element("ol", {class: "best", id: "readout-best"});
      this.bars = new MarginalBars(marginals, colourOf);
      this.table = element("tbody");
      this.details = element("details", {class: "all", id: "marginal-details"},
        element("summary", {}, marginals.complete ? "All probabilities of this pixel" : `Its ${marginals.kept} most probable labels`),
        element("div", {class: "scroll", tabindex: "0", role: "group", "aria-label": "probabilities"},
          element("table", {class: "grid", id: "marginal-table"},
            element("thead", {}, element("tr", {},
              element("th", {scope: "col"}, marginals.axis), element("th", {scope: "col"}, "probability"))),
            this.table)));
      this.details.addEventListener("toggle", () => {
        if (this.details.open) view.point();
        this.update();
      });
      this.node.append(element("div", {}, numbers, element("p", {class: "caption"}, `most probable ${marginals.axis}`), this.best),
        this.bars.node, this.details);
    } else {
      this.node.append(numbers);
    }
    view.onChange(drawSoon(() => {
      if (view.pointed) this.node.classList.replace("idle", "used");
      this.update();
    }));
    this.update();
  }

  update() {
    const {view, values, marginals} = this;
    const pixel = view.pixel;
    const pinned = view.pinned ? " (pinned)" : "";
    const [x, y] = view.place;
    const where = `x ${x}, y ${y}${view.depth > 1 ? `, z ${view.slice}` : ""}`;
    this.pixel.textContent = where + pinned;
    this.node.dataset.x = x;
    this.node.dataset.y = y;
    const texts = values.map(({unit, at}, k) => {
      const text = valueText(at(pixel), unit);
      this.valueNodes[k].textContent = text;
      return `${values[k].name} ${text}`;
    });
    if (marginals) this.updateMarginal(pixel, texts);
    clearTimeout(this.timer);
    this.timer = setTimeout(() => {
      this.live.textContent = `${where}: ${texts.join(", ")}`;
    }, QUIET_MILLISECONDS);
  }

  updateMarginal(pixel, texts) {
    const {marginals} = this;
    const entries = marginals.entries(pixel);
    const best = marginals.best(pixel, BEST);
    this.best.replaceChildren(...best.map(({label, p}) => element("li", {"data-label": label, "data-p": p.toFixed(5)},
      element("span", {class: "name"}, marginals.names[label]), element("span", {}, percent(p)))));
    texts.push(...best.map(({label, p}) => `${marginals.axis} ${marginals.names[label]} ${percent(p)}`));
    this.bars.canvas.setAttribute("aria-label", `Marginal distribution; most probable: ${
      best.map(({label, p}) => `${marginals.names[label]} ${percent(p)}`).join(", ")}`);
    this.bars.show(entries, this.truthMark(pixel));
    if (!this.details.open) return;
    this.table.replaceChildren(...entries.map(({label, p}) => element("tr", {"data-label": label, "data-p": p.toFixed(5)},
      element("th", {scope: "row"}, marginals.names[label]), element("td", {}, percent(p)))));
  }

  /** Where a value called "truth" lies between labels whose names are numbers in their order. */
  truthMark(pixel) {
    const truth = this.values.find(({name}) => name === "truth")?.at(pixel);
    if (!this.marginals.numeric || truth === undefined || Number.isNaN(truth)) return null;
    const numbers = this.marginals.names.map(Number);
    const after = numbers.findIndex((number) => number >= truth);
    if (after < 0 || truth < numbers[0]) return null;
    if (numbers[after] === truth) return after;
    return after - (numbers[after] - truth) / (numbers[after] - numbers[after - 1]);
  }
}

function valueText(value, unit) {
  if (Number.isNaN(value)) return "unknown";
  return significant(value, 4) + (unit ? " " + unit : "");
}
