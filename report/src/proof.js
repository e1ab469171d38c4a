// Certified expectations as bars with whiskers: the bar has the expectation, the whiskers a labeling drawn from the model.
import {element} from "./dom.js";
import {decimalsFor, fixed, roundedDown, roundedUp} from "./format.js";

const NARROW_SPACE = "\u202f";

/** `expectations` of the summary; null if there are none. */
export function provenBars(expectations) {
  if (!Array.isArray(expectations) || expectations.length === 0) return null;
  const credibility = expectations[0].credibility ?? 0.999;
  return element("div", {class: "proven", id: "proven"},
    element("p", {class: "muted"}, `With a probability of at least ${fixed(100 * credibility, 1)}${NARROW_SPACE}%, if the model is right:`),
    element("dl", {}, expectations.flatMap(row)),
    element("ul", {class: "legend"}, key("bar", "expected value lies here"), key("whisker", "a sample of the model lies here"),
      expectations.some(({labels}) => labels !== undefined) && key("of-labels", "these labels"),
      expectations.some(({claimed}) => claimed !== undefined) && key("claimed", "mean field\u2019s claim"),
      expectations.some(({truth}) => truth !== undefined) && key("truth", "truth")));
}

function key(kind, text) {
  return element("li", {}, element("i", {class: kind}), text);
}

function row(value) {
  const {name, unit, most, lower, upper, credible_lower: low, credible_upper: high, too_wide: tooWide, claimed, labels, truth} = value;
  const at = (x) => `${Math.min(100, Math.max(0, (100 * x) / most)).toFixed(3)}%`;
  const decimals = Math.min(2, decimalsFor(high - low) - 1);
  const suffix = unit === "%" ? `${NARROW_SPACE}%` : ` ${unit}`;
  const range = `${roundedDown(low, decimals)} to ${roundedUp(high, decimals)}${suffix}`;
  const overconfident = claimed !== undefined && claimed > upper;
  const text = tooWide ? "too wide to say" : overconfident ? `${range}; mean field claims ${fixed(claimed, 1)}${suffix}: overconfident` : range;
  const mark = (kind, x) => x !== undefined && placed(kind, at(x));
  return [element("dt", {}, String(name)),
    element("dd", {class: tooWide ? "wide" : null},
      element("span", {class: "track", role: "img", "aria-label": `${name}: ${range}`},
        placed("whisker", at(low), at(high - low)), placed("bar", at(lower), at(upper - lower)),
        mark("of-labels", labels), mark("claimed", claimed), mark("truth", truth)),
      element("span", {class: "range"}, text))];
}

function placed(kind, left, width) {
  const node = element("i", {class: kind});
  node.style.left = left;
  if (width !== undefined) node.style.width = width;
  return node;
}
