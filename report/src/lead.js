// The main results of a task in large numbers, and the pictures of a call with several.
import {element} from "./dom.js";

/** [[number, rest of the sentence], ...] */
export function leadList(lead) {
  if (lead.length === 0) return null;
  return element("ul", {class: "lead", id: "lead"}, lead.map(([number, what]) =>
    element("li", {}, element("strong", {}, String(number)), element("span", {}, String(what)))));
}

/** `items` of the summary with the `pictures` that the page carries, in the same order. */
export function gallery(items = [], pictures = []) {
  if (items.length === 0) return null;
  return element("section", {id: "gallery", "aria-labelledby": "gallery-title"}, element("h2", {id: "gallery-title"}, "Pictures"),
    element("ul", {class: "gallery"}, items.map((item, k) => card(item, pictures[k] ?? {}))));
}

function card({name, link, problem, facts = []}, {src, width, height}) {
  const picture = src && element("img", {src, width, height, alt: `Labels over ${name}`});
  const title = element("span", {class: "name"}, name);
  return element("li", {class: problem ? "failed" : null},
    link ? element("a", {href: link.split("/").map(encodeURIComponent).join("/")}, picture, title) : [picture, title],
    problem && element("p", {class: "notice"}, problem),
    facts.length > 0 && element("dl", {class: "numbers"}, facts.map(([what, value]) =>
      [element("dt", {}, String(what)), element("dd", {}, String(value))]).flat()));
}
