// Labels over the picture, with a wipe from those before to those after.
import {element} from "./dom.js";
import {Panel} from "./panel.js";

const OPACITY = 60;  // per cent, at first

export class Overlay extends Panel {
  /** `sources` by role: picture and after, and, where there is one, before. */
  constructor(about, sources, view, colours) {
    super(about, sources.picture, view, colours);
    this.sources = sources;
    if (!sources.before) this.wipeControl.hidden = true;
  }

  /** The panels that an overlay is made of; null unless there are a picture and labels. */
  static find(panels) {
    const of = (role) => panels.find(({about}) => about.role === role);
    const [picture, before, after] = ["picture", "before", "after"].map(of);
    if (!picture || !after) return null;
    return {about: {name: "labels over the picture", legend: after.about.legend}, parts: [picture, before, after],
            sources: {picture: picture.source, before: before?.source, after: after.source}};
  }

  controls() {
    const slider = (id, value, label) => {
      const node = element("input", {type: "range", min: "0", max: "100", value: String(value), id, "aria-label": label});
      node.addEventListener("input", () => this.drawSoon());
      return node;
    };
    this.opacity = slider("overlay-opacity", OPACITY, "Opacity of the labels in per cent");
    this.wipe = slider("overlay-wipe", 0, "Share of the picture, from the left, that shows the labels before");
    this.wipeControl = element("span", {class: "slider"}, element("span", {}, "after"), this.wipe, element("span", {}, "before"));
    return element("div", {class: "sliders"},
      element("span", {class: "slider"}, element("span", {}, "picture"), this.opacity, element("span", {}, "labels")), this.wipeControl);
  }

  paint(context, ...box) {
    const {picture, before, after} = this.sources;
    const {width, height} = context.canvas;
    const split = before ? (width * Number(this.wipe.value)) / 100 : 0;
    context.drawImage(picture, ...box);
    const part = (source, left, right) => {
      if (right <= left) return;
      context.save();
      context.beginPath();
      context.rect(left, 0, right - left, height);
      context.clip();
      context.globalAlpha = Number(this.opacity.value) / 100;
      context.drawImage(source, ...box);
      context.restore();
    };
    part(after, split, width);
    if (split === 0) return;
    part(before, 0, split);
    context.fillStyle = "#fff";
    context.fillRect(split - 1, 0, 2, height);
  }
}
