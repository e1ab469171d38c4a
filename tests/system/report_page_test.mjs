// The report page in a browser: it loads without errors and without network, on a desk and on a phone, light and
// dark, and what it says of a pixel is what the files of the bundle say.
import assert from "node:assert/strict";
import {copyFileSync, mkdirSync, readFileSync, statSync, writeFileSync} from "node:fs";
import {join} from "node:path";
import {pathToFileURL} from "node:url";
import {randomMarginals, randomNumbers, readNpy, submarine, temporaryDirectory, writeNpy, writePng} from "./report_support.mjs";

const {chromium} = await import(pathToFileURL(join(process.env.PLAYWRIGHT_CORE_DIR, "index.mjs")));

const DESK = {width: 1400, height: 900};
const PHONE = {width: 390, height: 844};
const SHOTS = process.env.SUBMARINE_REPORT_SHOTS;  // a directory for screenshots, when someone wants to look
const PERCENT_ROUNDING = 0.0005;
// (q/255)^2 is at most this far from p, and dividing by the sum of the row adds no more than as much again.
const QUANTISATION = 2 * (1 / 255);

const directory = temporaryDirectory();
const browser = await chromium.launch({executablePath: process.env.CHROMIUM, args: ["--no-sandbox", "--headless=new"]});

// ---- Bundles ----

function solvedBundle() {
  const bundle = join(directory, "solved");
  mkdirSync(bundle);
  submarine("generate", "--dense", "--width", "24", "--height", "18", "--labels", "5", "-o", join(bundle, "model.json"));
  submarine("solve", join(bundle, "model.json"), "--quiet", "--json", join(bundle, "summary.json"),
    "--marginals", join(bundle, "marginals.npy"));
  return bundle;
}

const TREE = `label\tparent\ncat\tpet\ndog\tpet\npet\tanimal\ncow\tanimal\nsky\tsky\nroad\t\n`;

/** What `solve --bundle` leaves of a model whose metric is a label hierarchy; `layout` are keys of its header. */
function groupedBundle(name, shape, layout) {
  const inputs = join(directory, `${name}-inputs`);
  mkdirSync(inputs);
  const random = randomNumbers(11);
  const count = shape.reduce((a, b) => a * b) * 5;
  writeNpy(join(inputs, "u.npy"), [...shape, 5], Float32Array.from({length: count}, () => 3 * random()));
  writeFileSync(join(inputs, "tree.tsv"), TREE);
  writeNpy(join(inputs, "edges.npy"), [2, 2], Int32Array.of(0, 1, 1, 2));
  writeFileSync(join(inputs, "model.json"), JSON.stringify({...layout, labels: 5, metric: "tree.tsv", unary: "u.npy"}));
  submarine("solve", join(inputs, "model.json"), "--quiet", "--bundle", join(directory, name));
  return join(directory, name);
}

const ODD = "a \"quoted\" </script><img src=x onerror=alert(1)> <!-- name & more";
const CLASSES = ["sky", "aeroplane with a long name", ODD, "cow"];
const COLOURS = ["#88ccee", "#117733", "#ddcc77", "#882255"];

/** All parts of a page, with names that would break one that is not careful. */
function writtenBundle() {
  const bundle = join(directory, "written");
  mkdirSync(bundle);
  const [width, height, labels] = [31, 17, CLASSES.length];
  const random = randomNumbers(7);
  const marginals = randomMarginals(width * height, labels, 6, random);
  const best = (a) => CLASSES.map((_, i) => i).reduce((i, j) => (marginals[a * labels + j] > marginals[a * labels + i] ? j : i));
  const truth = Float32Array.from({length: width * height}, (_, a) => (a % 5 === 0 ? NaN : best(a) + 0.25));
  writeNpy(join(bundle, "marginals.npy"), [height, width, labels], marginals);
  writeNpy(join(bundle, "truth.npy"), [height, width], truth);
  writeNpy(join(bundle, "best.npy"), [height, width], Int32Array.from(truth, (_, a) => best(a)));
  const channels = (colour) => [1, 3, 5].map((k) => parseInt(colour.slice(k, k + 2), 16));
  writePng(join(bundle, "labels 'x'.png"), width, height, (x, y) => channels(COLOURS[best(y * width + x)]));
  writePng(join(bundle, "ramp.png"), width, height, (x, y) => [8 * x, 15 * y, 90]);
  const xs = Array.from({length: 11}, (_, k) => k / 10);
  const plot = (title, style, more = {}) => ({
    title, x: {label: "share", values: xs}, y: {label: "error"}, style,
    series: [{name: "one", values: xs.map((x) => 1 - x)}, {name: ODD, values: xs.map((x, k) => (k === 3 ? null : x * x))}], ...more,
  });
  writeFileSync(join(bundle, "summary.json"), JSON.stringify({
    kind: "segment", lower: -120.53, upper: -101.25, dual: -101.5, energy: 130, seconds: 2, termination: "time limit", method: "pdhg",
    about: ODD, map: {lower: 101.25, upper: 130}, options: {gap: 0.001, nested: {list: [1, 2], odd: ODD}}, version: "9.9",
    unknown: {key: 1},
    iterations: Array.from({length: 40}, (_, k) =>
      ({k, seconds: 0.05 * k, upper: -101 + 1e6 * Math.exp(-2 * k), dual: k < 3 ? null : -101.5})),
    page: {
      title: `Segment: ${ODD}`,
      panels: [{name: "ramp", file: "ramp.png", scale: {low: 0, high: 3.5, unit: "nats"}},
               {name: ODD, file: "labels 'x'.png", legend: CLASSES.map((name, k) => ({name, colour: COLOURS[k]}))}],
      values: [{name: "truth", file: "truth.npy", unit: "px"}, {name: "best \"label\"", file: "best.npy"}],
      marginals: {file: "marginals.npy", label: "class", names: CLASSES},
      facts: [["bad pixels", "4.31%"], [ODD, "1"]],
      plots: [plot("Lines", "line"), plot("Points", "points", {diagonal: true}), plot("Bars", "bars")],
      notes: [ODD],
    },
  }));
  return {bundle, width, height, labels, marginals, truth, best};
}

/** What `segment` leaves: two colours, a softmax that is wrong at some pixels, and the truth. */
function segmentedBundle(name, [width, height], ...options) {
  const inputs = join(directory, `${name}-inputs`);
  mkdirSync(inputs);
  const right = (x, y) => Number((x - width / 2) ** 2 + (y - height / 2) ** 2 < (height / 3) ** 2);
  const random = randomNumbers(5);
  const softmax = new Float32Array(width * height * 3);
  for (let a = 0; a < width * height; ++a) {
    const best = random() < 0.15 ? 2 : right(a % width, Math.floor(a / width));
    softmax.set([0, 1, 2].map((label) => label === best ? 0.7 : 0.15), 3 * a);
  }
  writeNpy(join(inputs, "softmax.npy"), [height, width, 3], softmax);
  writeNpy(join(inputs, "truth.npy"), [height, width],
    Int32Array.from({length: width * height}, (_, a) => right(a % width, Math.floor(a / width))));
  writePng(join(inputs, "picture.png"), width, height, (x, y) => right(x, y) ? [210, 60 + (x % 9), 40] : [30, 90, 150 + (y % 13)]);
  writeFileSync(join(inputs, "names.txt"), `meadow\n${ODD}\ncow\n`);
  submarine("segment", join(inputs, "picture.png"), "--softmax", join(inputs, "softmax.npy"), "--truth", join(inputs, "truth.npy"),
    "--classes", join(inputs, "names.txt"), "--quiet", "-o", join(directory, name), ...options);
  return join(directory, name);
}

/** The colour in the middle of a pixel of a panel that shows the whole picture. */
async function colourAt(panel, x, y, width, height) {
  return panel.evaluate((canvas, [px, py, w, h]) => {
    const size = Math.min(canvas.width / w, canvas.height / h);
    const place = [canvas.width / 2 + (px + 0.5 - w / 2) * size, canvas.height / 2 + (py + 0.5 - h / 2) * size];
    const context = new OffscreenCanvas(1, 1).getContext("2d", {willReadFrequently: true});
    context.drawImage(canvas, ...place.map(Math.floor), 1, 1, 0, 0, 1, 1);
    return [...context.getImageData(0, 0, 1, 1).data].slice(0, 3);
  }, [x, y, width, height]);
}

async function slide(page, id, value) {
  await page.locator(id).evaluate((node, to) => {
    node.value = to;
    node.dispatchEvent(new Event("input"));
  }, String(value));
  await settle(page);
}

// ---- A page ----

/** Opens the page of a bundle, which must neither complain nor ask for anything, nor move what it has shown. */
async function open(bundle, viewport, colorScheme) {
  const context = await browser.newContext({viewport, colorScheme});
  const page = await context.newPage();
  const problems = [];
  page.on("console", (message) => problems.push(`console ${message.type()}: ${message.text()}`));
  page.on("pageerror", (error) => problems.push(`error: ${error.message}`));
  page.on("dialog", (dialog) => problems.push(`dialog: ${dialog.message()}`));
  const address = pathToFileURL(join(bundle, "report.html")).href;
  page.on("request", (request) => {
    if (request.url() !== address && !request.url().startsWith("data:")) problems.push(`request: ${request.url()}`);
  });
  await page.addInitScript(() => {
    window.shifts = 0;
    new PerformanceObserver((list) => {
      for (const entry of list.getEntries()) if (!entry.hadRecentInput) window.shifts += entry.value;
    }).observe({type: "layout-shift", buffered: true});
  });
  await page.goto(address);
  await page.waitForSelector("html[data-ready]");
  await settle(page);
  assert.equal(await page.evaluate(() => window.shifts), 0, "the page moved while it was drawn");
  return {page, async close(name) {
    if (SHOTS) await page.screenshot({path: join(SHOTS, `${name}-${viewport.width}-${colorScheme}.png`), fullPage: true});
    await context.close();
    assert.deepEqual(problems, [], name);
  }};
}

/** The frame after the next one, when everything that was asked for is drawn. */
function settle(page) {
  return page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
}

/** Where a pixel of the picture is on the screen while all of the picture is in sight. */
async function placeOf(panel, x, y, width, height) {
  await panel.scrollIntoViewIfNeeded();
  const box = await panel.boundingBox();
  const size = Math.min(box.width / width, box.height / height);
  return [box.x + box.width / 2 + (x + 0.5 - width / 2) * size, box.y + box.height / 2 + (y + 0.5 - height / 2) * size];
}

async function shownPixel(page) {
  await settle(page);
  const readout = page.locator("#readout");
  return [Number(await readout.getAttribute("data-x")), Number(await readout.getAttribute("data-y"))];
}

/** label -> {text, p} of the open table. */
async function shownMarginal(page) {
  const rows = await page.locator("#marginal-table tbody tr").evaluateAll((nodes) => nodes.map((row) =>
    ({label: Number(row.dataset.label), p: Number(row.dataset.p), name: row.cells[0].textContent, text: row.cells[1].textContent})));
  return new Map(rows.map((row) => [row.label, row]));
}

async function assertMarginal(page, expected, names) {
  const shown = await shownMarginal(page);
  assert.equal(shown.size, expected.length);
  for (const [label, p] of expected.entries()) {
    const row = shown.get(label);
    assert.equal(row.name, names[label]);
    assert.ok(Math.abs(row.p - p) <= QUANTISATION, `label ${label}: ${row.p} is shown, ${p} is stored`);
    if (row.text.startsWith("<")) assert.ok(row.p < 0.001);
    else assert.ok(Math.abs(parseFloat(row.text) / 100 - row.p) <= PERCENT_ROUNDING + 1e-5, `${row.text} for ${row.p}`);
  }
  const best = await page.locator("#readout-best li").first().getAttribute("data-label");
  const largest = Math.max(...expected);
  assert.ok(expected[Number(best)] >= largest - QUANTISATION, `best label ${best}`);
}

async function assertFits(page) {
  const excess = await page.evaluate(() => document.documentElement.scrollWidth - document.documentElement.clientWidth);
  assert.ok(excess <= 0, `the page is ${excess} pixels wider than the window`);
}

const row = (values, labels, a) => [...values.slice(a * labels, (a + 1) * labels)];

// ---- Tests ----

const tests = {
  async "a plain solve is shown with panels of its own"() {
    const bundle = solvedBundle();
    assert.match(submarine("report", bundle), /Wrote .*report\.html/);
    const {shape: [height, width, labels], values} = readNpy(join(bundle, "marginals.npy"));
    const {page, close} = await open(bundle, DESK, "light");
    assert.equal(await page.locator("canvas[data-panel]").count(), 2);
    assert.match(await page.locator("#interval").innerText(), /log Z lies in/);
    await page.locator("#marginal-details summary").click();
    for (const [x, y] of [[0, 0], [width - 1, height - 1], [7, 11], [20, 3]]) {
      await page.mouse.move(...await placeOf(page.locator("canvas[data-panel]").last(), x, y, width, height));
      assert.deepEqual(await shownPixel(page), [x, y]);
      await assertMarginal(page, row(values, labels, y * width + x), ["0", "1", "2", "3", "4"]);
    }
    assert.equal(await page.locator("#convergence canvas").count(), 1);
    await close("solved");
  },

  async "every part is there, on a desk and on a phone, light and dark"() {
    submarine("report", written.bundle);
    for (const viewport of [DESK, PHONE]) {
      for (const scheme of ["light", "dark"]) {
        const {page, close} = await open(written.bundle, viewport, scheme);
        await assertFits(page);
        assert.equal(await page.locator("#title").textContent(), `Segment: ${ODD}`);
        assert.equal(await page.locator("html").getAttribute("data-theme"), scheme);
        assert.equal(await page.locator("canvas[data-panel]").count(), 2);
        assert.equal(await page.locator("#plots canvas").count(), 3);
        assert.equal(await page.locator("#convergence canvas").count(), 1);
        assert.deepEqual(await page.locator(".legend li").allTextContents(), CLASSES);
        assert.equal(await page.locator("#facts tr").count(), 2);
        assert.match(await page.locator("#parameters").innerText(), /nested\.list\s+1, 2/);
        assert.equal(await page.locator("#notes li").textContent(), ODD);
        assert.equal(await page.locator("img").count(), 0);  // which ODD would have made
        assert.equal(await page.locator("#meaning p").count(), 3);
        await page.locator("#theme").click();
        assert.equal(await page.locator("html").getAttribute("data-theme"), scheme === "dark" ? "light" : "dark");
        await assertFits(page);
        await page.locator("#theme").click();
        await settle(page);
        await close("written");
      }
    }
  },

  async "a segmentation leads with its result, laid over the picture, before and after"() {
    const [width, height] = [60, 40];
    const bundle = segmentedBundle("segmented", [width, height]);
    for (const viewport of [DESK, PHONE]) {
      for (const scheme of ["light", "dark"]) {
        const {page, close} = await open(bundle, viewport, scheme);
        await assertFits(page);
        assert.match(await page.locator("#lead").innerText(), /of 2400 known pixels have their true label, 8\d\.\d% before/);
        assert.match(await page.locator("#verdict").innerText(), /^Helps: mean IoU/);
        const top = async (id) => (await page.locator(id).boundingBox()).y;
        assert.ok(await top("#lead") < await top("#pictures") && await top("#pictures") < await top("#parameters"));
        assert.deepEqual(await page.locator("canvas[data-panel]").evaluateAll((nodes) => nodes.map((node) => node.dataset.panel)),
          ["labels over the picture", "truth", "errors", "uncertainty"]);
        assert.equal(await page.locator("#changes tbody tr").count(), 2);  // the classes of the truth, which has no thin parts
        assert.match(await page.locator("#parameters").innerText(), /5 updates of mean field/);
        assert.doesNotMatch(await page.locator("#parameters").innerText(), /cutoff|^levels|max iterations/m);
        // The result is large, and its numbers are beside it: on a phone right below, before the other pictures.
        const [main, numbers, other] = await Promise.all(["canvas[data-panel] >> nth=0", "#readout", "canvas[data-panel] >> nth=1"]
          .map((what) => page.locator(what).boundingBox()));
        assert.ok(numbers.y + numbers.height <= other.y, "read-out beside or below the first picture");
        if (viewport === DESK) assert.ok(main.width >= 600 && main.height >= 500 && numbers.x >= main.x + main.width, `${main.width} x ${main.height}`);
        // Nothing crosses the picture before something pointed at it.
        assert.ok(await page.locator("#readout.idle .hint").isVisible());
        assert.deepEqual((await page.locator(".legend").first().locator("li").allTextContents()).map((text) => text.replace(/ [\d.]+\u202f%$/, "")),
          ["meadow", ODD]);
        const overlay = page.locator("canvas[data-panel]").first();
        await overlay.scrollIntoViewIfNeeded();
        // Without labels it is the picture; labels alone have the colours of the legend.
        await slide(page, "#overlay-opacity", 0);
        assert.deepEqual(await colourAt(overlay, 30, 20, width, height), [210, 60 + (30 % 9), 40]);
        await slide(page, "#overlay-opacity", 100);
        assert.deepEqual(await colourAt(overlay, 30, 20, width, height), [128, 0, 0]);
        assert.deepEqual(await colourAt(overlay, 3, 3, width, height), [0, 0, 0]);
        await slide(page, "#overlay-opacity", 60);
        await overlay.hover({position: {x: 40, y: 30}});
        await settle(page);
        assert.ok(!await page.locator("#readout .hint").isVisible());
        assert.match(await page.locator("#readout-best").innerText(), /meadow/);
        await slide(page, "#overlay-wipe", 50);
        await close("segmented");
      }
    }
    // Wrong pixels are there before, and not after.
    const {page, close} = await open(bundle, DESK, "light");
    const overlay = page.locator("canvas[data-panel]").first();
    await slide(page, "#overlay-opacity", 100);
    const greens = async () => (await Promise.all(Array.from({length: 200}, (_, k) =>
      colourAt(overlay, k % 20, Math.floor(k / 20), width, height)))).filter(([red, green]) => red === 0 && green === 128).length;
    assert.equal(await greens(), 0);
    await slide(page, "#overlay-wipe", 100);
    assert.ok(await greens() > 10);
    await page.locator("#overlay-wipe").focus();
    await page.keyboard.press("Home");
    await settle(page);
    assert.equal(await greens(), 0);
    await close("wiped");
  },

  async "a volume is shown by slices"() {
    const bundle = join(directory, "volume");
    mkdirSync(bundle);
    const [depth, height, width, labels] = [7, 12, 20, 3];
    const values = randomMarginals(depth * height * width, labels, 5, randomNumbers(9));
    writeNpy(join(bundle, "marginals.npy"), [depth, height, width, labels], values);
    writeFileSync(join(bundle, "summary.json"), "{}");
    submarine("report", bundle);
    const {page, close} = await open(bundle, PHONE, "dark");
    await assertFits(page);
    await page.locator("#marginal-details summary").click();
    const panel = page.locator("canvas[data-panel]").first();
    const seen = new Set();
    for (const slice of [0, 6, 3]) {
      await slide(page, "#slice", slice);
      assert.equal(await page.locator("#slice-text").textContent(), `slice ${slice} of 7`);
      await page.mouse.move(...await placeOf(panel, 11, 4, width, height));
      await settle(page);
      assert.equal(await page.locator("#readout-pixel").textContent(), `x 11, y 4, z ${slice}`);
      await assertMarginal(page, row(values, labels, (slice * height + 4) * width + 11), ["0", "1", "2"]);
      seen.add(String(await Promise.all([0, 1, 2, 3, 4, 5, 6, 7].map((x) => colourAt(panel, x, 2, width, height)))));
    }
    assert.equal(seen.size, 3);
    await close("volume");
  },

  async "what is proven is shown as bars with whiskers"() {
    const bundle = segmentedBundle("proven", [60, 40], "--certify", "exact");
    const {expectations} = JSON.parse(readFileSync(join(bundle, "summary.json"), "utf8"));
    for (const viewport of [DESK, PHONE]) {
      for (const scheme of ["light", "dark"]) {
        const {page, close} = await open(bundle, viewport, scheme);
        await assertFits(page);
        assert.equal(await page.locator("#proven dt").count(), expectations.length);
        const tracks = await page.locator("#proven .track").evaluateAll((nodes) => nodes.map((track) => {
          const all = track.getBoundingClientRect();
          const place = (kind) => {
            const box = track.querySelector(kind)?.getBoundingClientRect();
            return box && [(100 * (box.left - all.left)) / all.width, (100 * (box.right - all.left)) / all.width];
          };
          return {bar: place(".bar"), whisker: place(".whisker")};
        }));
        for (const [k, {lower, upper, credible_lower: low, credible_upper: high}] of expectations.entries()) {
          const near = (x, y) => assert.ok(Math.abs(x - y) < 2.5, `${x} instead of ${y}`);
          near(tracks[k].bar[0], lower);
          near(tracks[k].whisker[0], low);
          near(tracks[k].bar[1], Math.max(upper, lower));
          near(tracks[k].whisker[1], high);
        }
        assert.match(await page.locator("#proven").innerText(), /probability of at least 99\.9.%/);
        // log Z is one number of several.
        const size = (what) => page.locator(what).first().evaluate((node) => parseFloat(getComputedStyle(node).fontSize));
        assert.ok(await size("#interval .interval") < await size("#lead strong"));
        await close("proven");
      }
    }
  },

  async "several pictures have one page with links"() {
    const inputs = ["a", "b"].map((name) => segmentedBundle(`of ${name}`, [30, 20], "--no-report") && join(directory, `of ${name}-inputs`));
    const all = join(directory, "several");
    const [pictures, softmaxes, truths] = ["pictures", "softmaxes", "truths"].map((name) => join(directory, name));
    for (const folder of [pictures, softmaxes, truths]) mkdirSync(folder);
    for (const [k, folder] of inputs.entries()) {
      copyFileSync(join(folder, "picture.png"), join(pictures, `n\u00e9 ${k}.png`));
      copyFileSync(join(folder, "softmax.npy"), join(softmaxes, `n\u00e9 ${k}.npy`));
      copyFileSync(join(folder, "truth.npy"), join(truths, `n\u00e9 ${k}.npy`));
    }
    submarine("segment", pictures, "--softmax", softmaxes, "--truth", truths, "--quiet", "-o", all);
    for (const viewport of [DESK, PHONE]) {
      const {page, close} = await open(all, viewport, "light");
      await assertFits(page);
      assert.equal(await page.locator(".gallery img").count(), 2);
      assert.ok(await page.locator(".gallery img").first().evaluate((image) => image.complete && image.naturalWidth === 30));
      assert.match(await page.locator("#verdict").innerText(), /^Helps on 2 of 2 pictures/);
      assert.match(await page.locator(".gallery li").last().innerText(), /mean IoU\s+\d+\.\d% \(\d+\.\d% before\)/);
      const [list, last] = await Promise.all([".gallery", ".gallery li >> nth=1"].map((what) => page.locator(what).boundingBox()));
      assert.ok(Math.abs(list.x + list.width - last.x - last.width) < 1, "the pictures fill the width");
      await close("several");
    }
    const context = await browser.newContext({viewport: DESK});
    const page = await context.newPage();
    await page.goto(pathToFileURL(join(all, "report.html")).href);
    await page.locator(".gallery a").last().click();
    await page.waitForSelector("html[data-ready] #overlay-wipe");
    assert.equal(await page.locator("#title").textContent(), "Segmentation: n\u00e9 1.png");
    await context.close();
  },

  async "twelve megapixels are shown at a lower resolution, below the limit"() {
    const bundle = join(directory, "huge");
    mkdirSync(bundle);
    const [width, height] = [4000, 3000];
    const random = randomNumbers(2);
    writePng(join(bundle, "picture.png"), width, height, (x, y) => [(x >> 4) & 255, (y >> 4) & 255, 255 * random()]);
    writePng(join(bundle, "labels.png"), width, height, (x) => x < 2000 ? [0, 0, 0] : [128, 0, 0]);
    const p = Float32Array.from({length: width * height}, random);
    writeNpy(join(bundle, "entropy.npy"), [height, width], p);
    writeFileSync(join(bundle, "summary.json"), JSON.stringify({page: {lead: [["1", "picture"]],
      panels: [{name: "picture", file: "picture.png", role: "picture"},
               {name: "labels", file: "labels.png", role: "after", legend: [{name: "a", colour: "#000000"}, {name: "b", colour: "#800000"}]}],
      values: [{name: "entropy", file: "entropy.npy"}]}}));
    submarine("report", bundle);
    assert.ok(statSync(join(bundle, "report.html")).size < 20_000_000);
    const {page, close} = await open(bundle, DESK, "light");
    assert.match(await page.locator("#notes").innerText(), /shows 1334 x 1000 of the 4000 x 3000 pixels/);
    const overlay = page.locator("canvas[data-panel]").first();
    await page.mouse.move(...await placeOf(overlay, 700, 500, 1334, 1000));
    const [x, y] = await shownPixel(page);
    assert.ok(Math.abs(x - 2101) <= 3 && Math.abs(y - 1501) <= 3, `${x} ${y}`);
    const text = await page.locator("[data-value]").textContent();
    assert.ok(Math.abs(Number(text) - p[y * width + x]) < 1e-3, `${text} at ${x} ${y}`);
    await slide(page, "#overlay-opacity", 100);
    assert.deepEqual(await colourAt(overlay, 1000, 300, 1334, 1000), [128, 0, 0]);
    await close("huge");
  },

  async "ticks are rounded right"() {
    const bundle = join(directory, "ticks");
    mkdirSync(bundle);
    const values = [15, 16.4, 19.8, 24, 28];
    writeFileSync(join(bundle, "summary.json"), JSON.stringify({page: {plots: [{x: {values}, series: [{name: "a", values}]}]}}));
    submarine("report", bundle);
    const context = await browser.newContext({viewport: PHONE});
    const page = await context.newPage();
    await page.addInitScript(() => {
      window.texts = [];
      const draw = CanvasRenderingContext2D.prototype.fillText;
      CanvasRenderingContext2D.prototype.fillText = function(text, ...rest) {
        window.texts.push(text);
        return draw.call(this, text, ...rest);
      };
    });
    await page.goto(pathToFileURL(join(bundle, "report.html")).href);
    await page.waitForSelector("html[data-ready]");
    await settle(page);
    const numbers = (await page.evaluate(() => window.texts)).map(Number).filter((value) => value >= 15 && value <= 28);
    assert.ok(numbers.includes(17.5) && numbers.includes(22.5), `${numbers}`);  // which were once shown as 18 and 23
    await context.close();
  },

  async "words of the parameter table stay whole"() {
    const {page, close} = await open(written.bundle, PHONE, "light");
    const broken = await page.locator(".pairs th, .pairs td").evaluateAll((cells) => cells.flatMap((cell) => {
      const walker = document.createTreeWalker(cell, NodeFilter.SHOW_TEXT);
      const found = [];
      for (let node = walker.nextNode(); node; node = walker.nextNode()) {
        if (node.parentElement.classList.contains("long")) continue;
        for (const match of node.data.matchAll(/\S+/g)) {
          const range = document.createRange();
          range.setStart(node, match.index);
          range.setEnd(node, match.index + match[0].length);
          if (new Set([...range.getClientRects()].map((box) => Math.round(box.top))).size > 1) found.push(match[0]);
        }
      }
      return found;
    }));
    assert.deepEqual(broken, []);
    await close("words");
  },

  async "a label hierarchy is a tree that opens, and shows where its groups are"() {
    const [width, height] = [9, 7];
    const bundle = groupedBundle("grouped", [height, width], {submarine: "grid", width, height});
    const {values} = readNpy(join(bundle, "marginals.npy"));
    const members = new Map([["animal", [0, 1, 2]], ["pet", [0, 1]], ["cat", [0]], ["cow", [2]], ["sky", [3]], ["road", [4]]]);
    const mass = (name, a) => members.get(name).reduce((sum, label) => sum + values[5 * a + label], 0);
    for (const viewport of [DESK, PHONE]) {
      const {page, close} = await open(bundle, viewport, "light");
      const rowOf = (name) => page.locator(`#groups .row[data-group="${name}"]`);
      const names = () => page.locator("#groups .row:visible .name").allTextContents();
      const shares = new Map([...members.keys()].map((name) =>
        [name, Array.from({length: width * height}, (_, a) => mass(name, a)).reduce((a, b) => a + b) / (width * height)]));
      assert.deepEqual(await names(), ["animal", "sky", "road"].sort((a, b) => shares.get(b) - shares.get(a)));
      await rowOf("animal").click();
      assert.equal(await rowOf("animal").getAttribute("aria-expanded"), "true");
      await rowOf("pet").click();
      assert.deepEqual((await names()).sort(), ["animal", "cat", "cow", "dog", "pet", "road", "sky"]);
      for (const [name, share] of shares) {
        assert.ok(Math.abs(Number(await rowOf(name).getAttribute("data-share")) - share) < 1e-5, name);
      }
      const part = 100 * shares.get("cat") / shares.get("pet");
      assert.match(await rowOf("cat").locator(".part").textContent(), new RegExp(`^${part.toFixed(1).replace(".", "\\.")}.% of pet$`));
      // The picture of the group that was chosen, in the colours from 0 to 1, and its number at the pixel that is pointed at.
      const table = await page.evaluate(() => JSON.parse(document.getElementById("bundle").textContent).colours);
      const panel = page.locator("#groups canvas");
      for (const name of ["pet", "animal"]) {
        await rowOf(name).click();
        await settle(page);
        for (const [x, y] of [[0, 0], [8, 6], [3, 2]]) {
          const p = mass(name, y * width + x);
          const [red] = await colourAt(panel, x, y, width, height);
          const nearest = (t) => parseInt(table.substr(6 * Math.round(255 * Math.min(1, Math.max(0, t))), 2), 16);
          const reds = Array.from({length: 41}, (_, k) => nearest(p + QUANTISATION * (k - 20) / 20));
          assert.ok(red >= Math.min(...reds) && red <= Math.max(...reds), `${name} at ${x}, ${y}: red ${red}, expected about ${nearest(p)}`);
          await page.mouse.move(...await placeOf(panel, x, y, width, height));
          assert.deepEqual(await shownPixel(page), [x, y]);
          const shown = Number(await rowOf(name).locator(".pixel").getAttribute("data-p"));
          assert.ok(Math.abs(shown - p) <= QUANTISATION, `${name} at ${x}, ${y}: ${shown} is shown, ${p} is stored`);
        }
      }
      assert.equal(await rowOf("cat").isVisible(), false);  // the second click closed its groups
      assert.match(await page.locator("#readout-best").textContent(), /cat|dog|cow|sky|road/);
      await assertFits(page);
      await close("groups");
    }
    const {page, close} = await open(groupedBundle("graph", [3], {submarine: "graph", variables: 3, edges: "edges.npy"}), DESK, "dark");
    assert.equal(await page.locator("canvas[data-panel]").count(), 0);
    await page.locator('#groups .row[data-group="animal"]').click();
    assert.equal(await page.locator('#groups .row[data-group="cow"]').isVisible(), true);
    await close("groups-of-a-graph");
  },

  async "the printed interval contains the certified one"() {
    const {page, close} = await open(written.bundle, DESK, "light");
    const text = (await page.locator("#interval .interval").innerText()).replace(/\u2212/g, "-").replace(/[\u202f\s]/g, "");
    const [, low, high] = /^\[(-?[\d.]+),(-?[\d.]+)\]$/.exec(text);
    assert.ok(Number(low) <= -120.53 && Number(low) > -120.7, low);
    assert.ok(Number(high) >= -101.25 && Number(high) < -101.1, high);
    await close("interval");
  },

  async "pointing and keys show the right pixel and numbers"() {
    const {bundle, width, height, labels, marginals, truth, best} = written;
    const {page, close} = await open(bundle, DESK, "light");
    await page.locator("#marginal-details summary").click();
    const panel = page.locator("canvas[data-panel]").first();
    const assertPixel = async (x, y) => {
      assert.deepEqual(await shownPixel(page), [x, y]);
      const a = y * width + x;
      await assertMarginal(page, row(marginals, labels, a), CLASSES);
      const [truthText, bestText] = await page.locator("[data-value]").allTextContents();
      assert.equal(truthText, Number.isNaN(truth[a]) ? "unknown" : `${truth[a]} px`);
      assert.equal(bestText, String(best(a)));
    };
    for (const [x, y] of [[0, 0], [30, 16], [12, 5], [11, 5], [3, 14]]) {
      await page.mouse.move(...await placeOf(panel, x, y, width, height));
      await assertPixel(x, y);
    }
    await panel.focus();
    for (const [key, x, y] of [["ArrowRight", 4, 14], ["ArrowDown", 4, 15], ["Shift+ArrowRight", 14, 15], ["Shift+ArrowUp", 14, 5],
                               ["ArrowLeft", 13, 5], ["Shift+ArrowUp", 13, 0], ["ArrowUp", 13, 0]]) {
      await page.keyboard.press(key);
      await assertPixel(x, y);
    }
    await page.locator("#readout-live", {hasText: "x 13, y 0"}).waitFor({state: "attached"});
    // A pinned pixel stays until it is let go.
    const [left, top] = await placeOf(panel, 5, 6, width, height);
    await page.mouse.click(left, top);
    await page.mouse.move(...await placeOf(panel, 20, 10, width, height));
    await assertPixel(5, 6);
    await panel.press("Escape");
    await page.mouse.move(...await placeOf(panel, 21, 10, width, height));
    await assertPixel(21, 10);
    await close("pixels");
  },

  async "zoom is linked"() {
    const {bundle, width, height} = written;
    const {page, close} = await open(bundle, DESK, "light");
    const panel = page.locator("canvas[data-panel]").first();
    const state = async () => {
      await settle(page);
      const all = await page.locator("canvas[data-panel]").evaluateAll((nodes) =>
        nodes.map((node) => [node.dataset.zoom, node.dataset.centre]));
      assert.deepEqual(all[1], all[0]);
      return [Number(all[0][0]), ...all[0][1].split(" ").map(Number)];
    };
    assert.deepEqual(await state(), [1, width / 2, height / 2]);
    const [x, y] = await placeOf(panel, 8, 4, width, height);
    await page.mouse.move(x, y);
    await page.mouse.wheel(0, -500);
    const [zoomed] = await state();
    assert.ok(zoomed > 1.5, `zoom ${zoomed}`);
    assert.deepEqual(await shownPixel(page), [8, 4]);
    await page.mouse.move(x + 1, y);  // the point below the pointer did not move
    assert.deepEqual(await shownPixel(page), [8, 4]);
    const before = await state();
    await page.mouse.down();
    await page.mouse.move(x - 40, y, {steps: 4});
    await page.mouse.up();
    const after = await state();
    assert.ok(after[1] > before[1] + 0.5, `dragged from ${before[1]} to ${after[1]}`);
    await panel.dblclick();
    assert.deepEqual(await state(), [1, width / 2, height / 2]);
    await panel.press("+");
    assert.ok((await state())[0] > 1.2);
    await panel.press("0");
    assert.equal((await state())[0], 1);
    await page.locator("#zoom-in").click();
    assert.ok((await state())[0] > 1.2);
    await page.locator("#zoom-reset").click();
    assert.equal((await state())[0], 1);
    await close("zoom");
  },

  async "the convergence plot can be changed"() {
    const {page, close} = await open(written.bundle, DESK, "dark");
    for (const key of ["logarithmic", "all"]) {
      const toggle = page.locator(`[data-toggle=${key}]`);
      await toggle.click();
      assert.equal(await toggle.getAttribute("aria-pressed"), "true");
      assert.equal(await page.locator("#convergence canvas").count(), 1);
    }
    await page.locator("#convergence .u-over").hover();
    await settle(page);
    assert.match(await page.locator("#convergence .plot-legend").innerText(), /upper .*101/);
    await page.locator("#convergence details summary").click();
    assert.equal(await page.locator("#convergence tbody tr").count(), 40);
    await close("convergence");
  },

  async "a touch shows its pixel"() {
    const {bundle, width, height, labels, marginals} = written;
    const context = await browser.newContext({viewport: PHONE, hasTouch: true, isMobile: true});
    const page = await context.newPage();
    await page.goto(pathToFileURL(join(bundle, "report.html")).href);
    await page.waitForSelector("html[data-ready]");
    await page.locator("#marginal-details summary").click();
    await page.touchscreen.tap(...await placeOf(page.locator("canvas[data-panel]").first(), 9, 3, width, height));
    assert.deepEqual(await shownPixel(page), [9, 3]);
    await assertMarginal(page, row(marginals, labels, 3 * width + 9), CLASSES);
    if (SHOTS) await page.screenshot({path: join(SHOTS, "touch.png")});
    await context.close();
  },

  async "thinned marginals say so"() {
    const bundle = join(directory, "thinned");
    mkdirSync(bundle);
    const [width, height, labels] = [60, 50, 100];
    const values = randomMarginals(width * height, labels, 12, randomNumbers(3));
    writeNpy(join(bundle, "marginals.npy"), [height, width, labels], values);
    writeFileSync(join(bundle, "summary.json"), "{}");
    submarine("report", bundle, "--max-mb", "0.2");
    assert.ok(statSync(join(bundle, "report.html")).size < 200_000);
    const {page, close} = await open(bundle, PHONE, "light");
    const [, kept] = /Of the 100 labels only the (\d+) most probable/.exec(await page.locator("#notes").innerText());
    await page.locator("#marginal-details summary").click();
    await page.mouse.move(...await placeOf(page.locator("canvas[data-panel]").first(), 33, 21, width, height));
    assert.deepEqual(await shownPixel(page), [33, 21]);
    const expected = row(values, labels, 21 * width + 33);
    const shown = await shownMarginal(page);
    assert.equal(shown.size, Number(kept));
    assert.ok(shown.size > 3 && shown.size < 60, `${shown.size} are kept`);
    for (const [label, {p}] of shown) assert.ok(Math.abs(p - expected[label]) <= QUANTISATION, `label ${label}`);
    const least = Math.min(...[...shown.keys()].map((label) => expected[label]));
    for (const [label, p] of expected.entries()) assert.ok(shown.has(label) || p <= least + QUANTISATION, `label ${label} is missing`);
    await close("thinned");
  },

  async "a pair of 450 x 375 with 60 labels stays below 20 MB"() {
    const bundle = join(directory, "large");
    mkdirSync(bundle);
    writeNpy(join(bundle, "marginals.npy"), [375, 450, 60], randomMarginals(450 * 375, 60, 4, randomNumbers(1)));
    writeFileSync(join(bundle, "summary.json"), "{}");
    submarine("report", bundle);
    assert.ok(statSync(join(bundle, "report.html")).size < 20_000_000);
    const {page, close} = await open(bundle, DESK, "light");
    assert.equal(await page.locator("#notes").count(), 0);  // nothing had to be left out
    await close("large");
  },

};

const written = writtenBundle();
let failed = 0;
for (const [name, test] of Object.entries(tests)) {
  const begin = Date.now();
  try {
    await test();
    console.log(`ok      ${name} (${Date.now() - begin} ms)`);
  } catch (error) {
    ++failed;
    console.log(`FAILED  ${name}\n${error.stack}`);
  }
}
await browser.close();
process.exit(failed === 0 ? 0 : 1);
