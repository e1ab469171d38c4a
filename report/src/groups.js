// A label hierarchy as a tree: the share of every group and of what is in it. A click opens a group and shows where it is.
import {drawSoon, element} from "./dom.js";
import {percent} from "./format.js";
import {Panel} from "./panel.js";

/** {name, label, members, share, children}: the groups of the summary and the labels in them, largest first. */
function treeOf({groups, label_shares: shares, label_names: labelNames}, names) {
  const nodes = groups.map(({name, labels, share}) => ({name, members: labels, share, children: []}));
  const number = new Map(groups.map(({name}, k) => [name, k]));
  const root = {children: []};
  const owner = shares.map(() => root);  // the smallest group around each label; parents come first
  groups.forEach(({labels, parent}, k) => {
    (parent === null ? root : nodes[number.get(parent)]).children.push(nodes[k]);
    for (const label of labels) owner[label] = nodes[k];
  });
  shares.forEach((share, label) => {
    const name = String(names?.[label] ?? labelNames?.[label] ?? label);
    // A group of one label that has its name is that label.
    if (owner[label].members?.length === 1 && owner[label].name === name) return;
    owner[label].children.push({name, members: [label], share, children: []});
  });
  for (const {children} of [root, ...nodes]) children.sort((a, b) => b.share - a.share);
  return root.children;
}

export class Groups {
  /** Without a view or marginals there is the tree alone. */
  constructor(summary, {view, marginals, colours} = {}) {
    const roots = treeOf(summary, marginals?.names);
    this.marginals = marginals;
    this.rows = [];
    const list = element("ul", {class: "tree", "aria-label": "label groups"}, roots.map((node) => this.item(node, null)));
    this.node = element("section", {id: "groups", "aria-labelledby": "groups-title"},
      element("h2", {id: "groups-title"}, "Groups of labels"),
      element("p", {class: "muted small"}, `Mean marginals. Click a group to see what is in it${
        view && marginals ? ", and any name to see where it is probable" : ""}.`));
    if (!view || !marginals) {
      this.node.append(list);
      return;
    }
    this.panel = new Panel({name: "probability", scale: {low: 0, high: 1}}, (slice) => this.map(slice), view, colours);
    this.panel.node.hidden = true;
    this.view = view;
    this.colours = colours;
    this.node.append(element("div", {class: "tree-stage"}, list, this.panel.node));
    view.onChange(drawSoon(() => this.showPixel()));
  }

  item(node, parent) {
    const {children} = node;
    const below = children.length > 0 && element("ul", {hidden: ""}, children.map((child) => this.item(child, node)));
    const bar = element("i");
    bar.style.width = `${(100 * node.share).toFixed(2)}%`;
    const pixel = element("span", {class: "pixel"});
    const row = element("button", {type: "button", class: "row", "aria-expanded": below ? "false" : null, "data-group": node.name,
      "data-share": node.share.toFixed(5)},
    element("span", {class: "mark", "aria-hidden": "true"}), element("span", {class: "name"}, node.name),
    element("span", {class: "share"}, percent(node.share)), element("span", {class: "track"}, bar),
    element("span", {class: "part"}, parent && parent.share > 0 ? `${percent(node.share / parent.share)} of ${parent.name}` : ""), pixel);
    this.rows.push({node, row, pixel});
    row.addEventListener("click", () => {
      if (below) {
        below.hidden = !below.hidden;
        row.setAttribute("aria-expanded", String(!below.hidden));
      }
      if (this.panel) this.choose(node);
    });
    return element("li", {}, row, below);
  }

  choose(node) {
    this.chosen = node;
    this.shown = null;
    for (const {node: other, row} of this.rows) row.toggleAttribute("data-chosen", other === node);
    this.panel.node.hidden = false;
    this.panel.node.querySelector("h3").textContent = `probability of ${node.name}`;
    this.panel.canvas.setAttribute("aria-label", `Probability of ${node.name} at every pixel`);
    this.panel.drawSoon();
  }

  /** The picture of the chosen node, which is remembered. */
  map(slice) {
    if (this.shown?.slice !== slice) {
      const {width, height} = this.view;
      const inside = this.marginals.membership(this.chosen?.members ?? []);
      this.shown = {slice, picture: this.colours.picture(width, height, 1,
        (pixel) => this.marginals.mass(slice * width * height + pixel, inside))};
    }
    return this.shown.picture;
  }

  showPixel() {
    if (!this.view.pointed) return;
    for (const {node, pixel} of this.rows) {
      const p = this.marginals.mass(this.view.pixel, this.marginals.membership(node.members));
      pixel.textContent = `${percent(p)} here`;
      pixel.dataset.p = p.toFixed(5);
    }
  }
}
