// What became of every class: its score before and after, the largest losses first.
import {element} from "./dom.js";
import {percent} from "./format.js";

const signed = (share) => `${share < 0 ? "\u2212" : "+"}${Math.abs(100 * share).toFixed(1)}`;

/** [{name, before, after, interval}], shares from 0 to 1; no table without any before. */
export function changesTable(changes = []) {
  const known = changes.filter(({before}) => typeof before === "number");
  if (known.length === 0) return null;
  const rows = [...known].sort((a, b) => (a.after - a.before) - (b.after - b.before));
  const most = Math.max(0.01, ...rows.map(({before, after}) => Math.abs(after - before)));
  return element("section", {id: "changes", "aria-labelledby": "changes-title"},
    element("h2", {id: "changes-title"}, "Class by class"),
    element("div", {class: "table-scroll"}, element("table", {class: "grid"},
      element("thead", {}, element("tr", {}, ["", "IoU before", "after", "change, points", ""].map((text) =>
        element("th", {scope: "col"}, text)))),
      element("tbody", {}, rows.map((row) => line(row, most))))));
}

function line({name, before, after, interval}, most) {
  const by = after - before;
  const bar = element("i", {class: by < 0 ? "loss" : "gain"});
  bar.style.width = `${(50 * Math.abs(by)) / most}%`;
  const between = Array.isArray(interval) ? ` (${signed(interval[0])} to ${signed(interval[1])})` : "";
  return element("tr", {}, element("th", {scope: "row"}, String(name)), element("td", {}, percent(before)), element("td", {}, percent(after)),
    element("td", {}, signed(by) + between), element("td", {class: "diverging"}, bar));
}
