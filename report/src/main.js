// Puts the page together from what the bundle has.
import {changesTable} from "./changes.js";
import {ColourMap} from "./colours.js";
import {Convergence} from "./convergence.js";
import {Bundle, canInflate} from "./data.js";
import {button, element} from "./dom.js";
import {Panel} from "./panel.js";
import {pagePlot} from "./plots.js";
import {provenBars} from "./proof.js";
import {Readout} from "./readout.js";
import {gallery, leadList} from "./lead.js";
import {Groups} from "./groups.js";
import {Overlay} from "./overlay.js";
import {headline, meaning, notesSection, pairsTable, parameterPairs, resultPairs} from "./text.js";
import {Theme} from "./theme.js";
import {View} from "./view.js";

const OLD_BROWSER = "This browser cannot unpack the data in this page (it has no DecompressionStream), so the numbers of single "
  + "pixels are missing; any browser of 2023 or later can.";

function titleOf({summary, page, files}) {
  if (page.title) return page.title;
  if (Array.isArray(summary.rows)) return `Synthetic experiment: ${files.folder}`;
  return summary.model ? `Model: ${summary.model}` : files.folder;
}

function loadImage(src) {
  const image = new Image();
  image.src = src;
  return image.decode().then(() => image);
}

/** Without panels of its own, a bundle with marginals is shown by its best labels and their entropy, slice by slice. */
function computedPanels({width, height}, marginals, colours) {
  const mostEntropy = Math.log(marginals.labels);
  const slices = (most, valueAt) => lastOnly((slice) =>
    colours.picture(width, height, most, (pixel) => valueAt(slice * width * height + pixel)));
  return [
    {about: {name: "most probable label", scale: {low: 0, high: marginals.labels - 1}},
     source: slices(Math.max(1, marginals.labels - 1), (pixel) => marginals.bestLabel(pixel))},
    {about: {name: "entropy", scale: {low: 0, high: mostEntropy, unit: "nats"}},
     source: slices(mostEntropy || 1, (pixel) => marginals.entropy(pixel))},
  ];
}

/** The function, which remembers its last result. */
function lastOnly(make) {
  let [argument, result] = [null, null];
  return (asked) => {
    if (asked !== argument) [argument, result] = [asked, make(asked)];
    return result;
  };
}

async function panelSources(bundle, marginals, colours) {
  const about = bundle.page.panels ?? [];
  const given = await Promise.all(bundle.files.panels.map(async ({name, src}, k) =>
    src && {about: {...about[k], name}, source: await loadImage(src)}));
  const panels = given.filter(Boolean);
  return panels.length === 0 && marginals ? computedPanels(bundle, marginals, colours) : panels;
}

/** The section of the pictures and that of label groups; null where there are none. */
async function pictures(bundle, theme) {
  const readable = canInflate();
  const [values, marginals] = readable ? await Promise.all([bundle.values(), bundle.marginals()]) : [[], null];
  const colours = new ColourMap(bundle.files.colours);
  const sources = await panelSources(bundle, marginals, colours);
  const hierarchy = (parts) => (bundle.summary.groups?.length > 0 ? new Groups(bundle.summary, parts).node : null);
  if (sources.length === 0) return [null, hierarchy()];
  const view = new View(bundle.width, bundle.height, bundle.files);
  const overlay = Overlay.find(sources);
  const chosen = overlay ? null : sources.find(({about}) => about.role === "main") ?? sources[0];
  const main = overlay ? new Overlay(overlay.about, overlay.sources, view, colours) : new Panel(chosen.about, chosen.source, view, colours);
  const others = sources.filter((panel) => panel !== chosen && !overlay?.parts.includes(panel))
    .map(({about, source}) => new Panel(about, source, view, colours));
  main.node.classList.add("main");
  const legends = sources.flatMap(({about}) => about.legend ?? []);
  const readout = new Readout(view, values, marginals, new Map(legends.map(({name, colour}) => [String(name), colour])));
  theme.onChange(() => view.changed());
  const fit = () => main.fit;
  const section = element("section", {id: "pictures", "aria-labelledby": "pictures-title"},
    element("div", {class: "heading"}, element("h2", {id: "pictures-title"}, "Pixel by pixel"),
      element("div", {class: "buttons"},
        button("\u2212", () => view.zoomBy(1 / 1.5, fit()), {"aria-label": "Zoom out", id: "zoom-out"}),
        button("+", () => view.zoomBy(1.5, fit()), {"aria-label": "Zoom in", id: "zoom-in"}),
        button("Whole picture", () => view.reset(), {id: "zoom-reset"}))),
    sliceControl(view),
    element("div", {class: "stage"}, main.node, readout.node,
      others.length > 0 && element("div", {class: "panels"}, others.map((panel) => panel.node))),
    element("p", {class: "keys small muted", id: "keys"}, "Point at a pixel; click pins it. Wheel or pinch zooms, dragging moves, "
      + "double click shows the whole. With a picture focused: arrow keys move by a pixel (with shift by ten), + and \u2212 zoom, "
      + "0 shows the whole, enter pins."),
    readable || (bundle.files.values.length === 0 && !bundle.files.marginals) ? null : element("p", {class: "notice"}, OLD_BROWSER));
  return [section, hierarchy({view, marginals, colours})];
}

function sliceControl(view) {
  if (view.depth === 1) return null;
  const text = element("output", {id: "slice-text", for: "slice"});
  const slider = element("input", {type: "range", id: "slice", min: "0", max: String(view.depth - 1), value: String(view.slice),
    "aria-label": "Slice of the volume"});
  const show = () => { text.textContent = `slice ${view.slice} of ${view.depth}`; };
  slider.addEventListener("input", () => {
    view.showSlice(Number(slider.value));
    show();
  });
  show();
  return element("div", {class: "sliders"}, element("span", {class: "slider"}, element("span", {}, "z"), slider, text));
}

function figures({files}) {
  return files.figures.filter(({src}) => src).map(({name, src, width, height}) =>
    element("section", {"aria-label": name}, element("h2", {}, name),
      element("figure", {class: "figure"}, element("img", {src, width, height, alt: name}))));
}

async function build() {
  const theme = new Theme(document.getElementById("theme"));
  const bundle = new Bundle();
  const {summary, page} = bundle;
  const main = document.getElementById("page");
  const title = String(titleOf(bundle));
  document.title = `${title} \u2013 submarine`;
  const convergence = new Convergence(summary, theme);
  const plots = (page.plots ?? []).map((plot) => pagePlot(plot, theme));
  // Unpacked and decoded before anything below the title is there, so that nothing moves when it arrives.
  main.append(element("h1", {id: "title"}, title));
  const [section, groups] = await pictures(bundle, theme);
  const add = (...nodes) => main.append(...nodes.flat().filter(Boolean));
  const bars = provenBars(summary.expectations);
  const proof = [bars, headline(summary), meaning(summary)];
  const task = (page.lead ?? []).length > 0;  // its own result comes first, then log Z
  add(leadList(page.lead ?? []), page.verdict && element("p", {class: "verdict", id: "verdict"}, String(page.verdict)), task ? [] : proof, section, groups, gallery(page.gallery, bundle.files.gallery),
    figures(bundle), task && proof.some(Boolean) && element("section", {class: "beside", "aria-labelledby": "proof-title"},
      element("h2", {id: "proof-title"}, "What is proven"), proof), changesTable(page.changes),
    convergence.usable ? convergence.node : null,
    plots.length > 0 && element("section", {id: "plots", "aria-labelledby": "plots-title"},
      element("h2", {id: "plots-title"}, "Plots"), element("div", {class: "plot-grid"}, plots.map(({node}) => node))),
    element("div", {class: "columns"}, [
      pairsTable("In numbers", "facts", page.facts ?? []),
      pairsTable("Result", "result", resultPairs(summary)),
      pairsTable("Parameters", "parameters", (page.parameters ?? []).length > 0 ? page.parameters : parameterPairs(summary)),
    ].filter(Boolean)),
    notesSection([...bundle.files.notes, ...(summary.notes ?? []), ...(page.notes ?? [])]),
    element("footer", {}, `Made by submarine${summary.version ? " " + summary.version : ""}. `
      + "This file needs no network; charts are drawn by uPlot (MIT licence)."));
  if (convergence.usable) convergence.start();
  for (const plot of plots) plot.start();
  document.documentElement.dataset.ready = "true";
}

build().catch((error) => {
  document.getElementById("page").append(element("p", {class: "notice"}, `This page could not be drawn: ${error.message}`));
  throw error;
});
