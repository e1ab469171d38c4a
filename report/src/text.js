// The interval and what it means, and the tables.
import {element} from "./dom.js";
import {decimalsFor, duration, fixed, isNumber, roundedDown, roundedUp, significant} from "./format.js";

const PROOFS = {trw: "weighted trees prove", routed: "a path, routes to it and a flow prove",
  fluctuations: "mean field and the most that its fluctuations can add prove"};

/** log Z, or what takes its place at another temperature. */
export function quantity(temperature) {
  if (temperature === 0) return "the least energy";
  return temperature === undefined || temperature === 1 ? "log Z" : `T log Z at T = ${significant(temperature)}`;
}

export function headline(summary) {
  const what = quantity(summary.temperature);
  let {lower, upper} = summary;
  if (summary.temperature === 0) [lower, upper] = [isNumber(upper) ? -upper : null, isNumber(lower) ? -lower : null];
  const node = element("div", {id: "interval"});
  const line = (...parts) => node.append(element("p", {class: "headline"}, element("span", {class: "quantity"}, what + parts[0]),
    element("span", {class: "interval"}, ...parts.slice(1))));
  if (isNumber(lower) && isNumber(upper)) {
    const width = upper - lower;
    const exact = summary.termination === "exact";
    const decimals = exact ? 9 : decimalsFor(width);
    line(" lies in", element("span", {}, element("span", {class: "bracket"}, "["), roundedDown(lower, decimals), ","), " ",
      element("span", {}, roundedUp(upper, decimals), element("span", {class: "bracket"}, "]")));
    if (exact) return node;
    const relative = upper !== 0 ? `, ${significant((100 * width) / Math.abs(upper), 3)}\u202f% of the upper end` : "";
    const each = isNumber(summary.interval?.per_variable)
      ? `, ${significant(summary.interval.per_variable, 3)} nats per variable` : "";
    node.append(element("p", {class: "width"}, `An interval ${significant(width, 4)} wide${relative}${each}.`));
  } else if (isNumber(upper)) {
    line(" is at most", element("span", {}, roundedUp(upper, 4)));
  } else if (isNumber(lower)) {
    line(" is at least", element("span", {}, roundedDown(lower, 4)));
  } else {
    return null;
  }
  return node;
}

/** Two plain sentences, and what model they are about. */
export function meaning(summary) {
  const sentences = [intervalSentence(summary), labelingSentence(summary)].filter(Boolean);
  if (sentences.length === 0) return null;
  return element("div", {class: "meaning", id: "meaning"}, sentences.map((text) => element("p", {}, text)),
    summary.about && element("p", {class: "about"}, `The model: ${String(summary.about)}`));
}

function intervalSentence({lower, upper, termination, temperature, method, extension}) {
  const what = quantity(temperature);
  // `auto` on dense models keeps its name where it has routed pairs.
  const proof = PROOFS[extension in PROOFS ? extension : method] ?? "a flow proves";
  if (!isNumber(lower) && !isNumber(upper)) return null;
  if (termination === "exact") {
    return `This is ${what} of the model itself, computed by exact elimination; the interval is a bound on the rounding errors.`;
  }
  if (temperature === 0) {
    return `Whatever the least energy of this model is, it lies in this interval: a labeling attains the upper end, ${
      proof} the lower one, and code apart from the solver has checked both.`;
  }
  if (isNumber(lower) && isNumber(upper)) {
    return `Whatever the true value of ${what} of this model is, it lies in this interval: a mean-field distribution attains the `
      + `lower end, ${proof} the upper one, and code apart from the solver has checked both.`;
  }
  return isNumber(upper)
    ? `Whatever the true value of ${what} of this model is, it is not above this number: ${proof} it, and code apart from the `
      + "solver has checked the proof."
    : `Whatever the true value of ${what} of this model is, it is not below this number, for a mean-field distribution attains it; `
      + "how far above it lies is not known.";
}

function labelingSentence({map, energy, upper, termination, temperature, options}) {
  const least = isNumber(map?.lower) ? map.lower : isNumber(upper) ? -upper : null;
  if (!isNumber(energy)) return least === null ? null : `No labeling has an energy below ${roundedDown(least, 3)}.`;
  const found = termination === "exact" && temperature !== 0 ? "the labeling of the largest marginals"
    : options?.updates > 0 ? "the labeling of these updates" : "the best labeling found";
  if (least === null) return `The energy of ${found} is ${fixed(energy, 3)}; how far that is from the least is not known.`;
  const decimals = decimalsFor(energy - least);
  return `No labeling has an energy below ${roundedDown(least, decimals)}; ${found} has ${roundedUp(energy, decimals)}, at most ${
    significant(Math.max(0, energy - least), 3)} above the least.`;
}

/** [[name, value], ...] as a table. */
export function pairsTable(title, id, pairs) {
  if (pairs.length === 0) return null;
  return element("section", {id, "aria-labelledby": `${id}-title`}, element("h2", {id: `${id}-title`}, title),
    element("table", {class: "pairs"}, element("tbody", {}, pairs.map(([name, value]) =>
      element("tr", {}, element("th", {scope: "row"}, breakable(String(name))), element("td", {}, breakable(String(value))))))));
}

const LONG_WORD = 18;

/** Words stay whole; very long ones, such as paths, may break after a separator and, if they must, anywhere. */
function breakable(text) {
  return text.split(/(\s+)/).map((word) => {
    if (word.length <= LONG_WORD) return word;
    const parts = word.split(/(?<=[/_.,:=-])/);
    return element("span", {class: "long"}, parts.flatMap((part, k) => k === 0 ? [part] : [document.createElement("wbr"), part]));
  });
}

export function resultPairs(summary) {
  const pairs = [];
  const add = (name, value, text = String) => {
    if (value !== null && value !== undefined && value !== "") pairs.push([name, text(value)]);
  };
  const number = (value) => significant(value, 10);
  const bound = (name, key) => add(name, summary[key], (value) => {
    const source = summary.provenance?.[key];
    return source ? `${number(value)} (${source})` : number(value);
  });
  bound("upper bound", "upper");
  bound("dual value", "dual");
  bound("lower bound", "lower");
  bound("energy of the labeling", "energy");
  add("method", summary.method);
  add("ended by", summary.termination);
  add("time", isNumber(summary.seconds) ? summary.seconds : null, duration);
  add("records", summary.iterations?.length || null);
  add("pairs applied by", typeof summary.pairs === "string" ? summary.pairs : null);
  return pairs;
}

/** Nested parameters as dotted names. */
export function flatten(value, prefix = "") {
  if (value === null || typeof value !== "object") return [[prefix, value === null ? "none" : value]];
  if (Array.isArray(value) && value.every((item) => item === null || typeof item !== "object")) return [[prefix, value.join(", ")]];
  return Object.entries(value).flatMap(([key, inner]) => flatten(inner, prefix ? `${prefix}.${key}` : key));
}

export function parameterPairs(summary) {
  const options = flatten(summary.options ?? summary.settings ?? {}).filter(([name]) => name !== "");
  const model = [["model", summary.model], ["temperature", summary.temperature], ["extension", summary.extension]];
  return [...model.filter(([, value]) => value !== null && value !== undefined), ...options]
    .map(([name, value]) => [name.replace(/_/g, " "), value]);
}

export function notesSection(notes) {
  if (notes.length === 0) return null;
  return element("section", {id: "notes", "aria-labelledby": "notes-title"}, element("h2", {id: "notes-title"}, "Notes"),
    element("ul", {class: "notes"}, notes.map((note) => element("li", {}, String(note)))));
}
