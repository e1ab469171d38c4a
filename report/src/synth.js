// The table of a synthetic experiment.
import {element} from "./dom.js";
import {fixed, isNumber, significant} from "./format.js";

const COLUMNS = [
  ["metric", (row) => row.metric, "text"],
  ["weight", (row) => significant(row.weight)],
  ["method", (row) => row.method, "text"],
  ["n", (row) => row.bound?.count],
  ["mean bound", (row) => isNumber(row.bound?.mean) ? fixed(row.bound.mean, 1) : ""],
  ["mean ratio", (row) => isNumber(row.ratio?.mean) ? fixed(row.ratio.mean, 4) : ""],
  ["deviation", (row) => isNumber(row.ratio?.deviation) ? fixed(row.ratio.deviation, 4) : ""],
  ["seconds", (row) => isNumber(row.seconds?.mean) ? significant(row.seconds.mean, 3) : ""],
];

export function synthTable(rows) {
  if (!Array.isArray(rows) || rows.length === 0) return null;
  return element("section", {id: "synth", "aria-labelledby": "synth-title"}, element("h2", {id: "synth-title"}, "Results"),
    element("p", {class: "small muted"}, "The ratio is (bound \u2212 TRW) / |TRW|, its mean and standard deviation over the instances."),
    element("div", {class: "table-scroll", tabindex: "0", role: "group", "aria-label": "results"},
      element("table", {class: "grid"},
        element("thead", {}, element("tr", {}, COLUMNS.map(([name, , kind]) => element("th", {scope: "col", class: kind}, name)))),
        element("tbody", {}, rows.map((row) =>
          element("tr", {}, COLUMNS.map(([, text, kind]) => element("td", {class: kind}, String(text(row) ?? "")))))))));
}
