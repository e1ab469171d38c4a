// What the page carries: two JSON texts and blocks of compressed bytes.

export class Bundle {
  constructor() {
    this.summary = readJson("summary");
    this.files = readJson("bundle");
    this.page = this.summary.page ?? {};
    this.width = this.files.width;
    this.height = this.files.height;
    this.depth = this.files.depth ?? 1;
  }

  /** [{name, unit, at(pixel)}], for pixels in raster order. */
  async values() {
    return Promise.all(this.files.values.map(async ({name, unit, block}) => {
      const numbers = new Float32Array(await inflate(takeBlock(block)));
      return {name, unit, at: (pixel) => numbers[pixel]};
    }));
  }

  async marginals() {
    const about = this.files.marginals;
    if (!about) return null;
    const q = new Uint8Array(await inflate(takeBlock(about.block)));
    let label = null;
    if (about.labelBlock !== undefined) {
      const bytes = await inflate(takeBlock(about.labelBlock));
      label = about.labelBytes === 1 ? new Uint8Array(bytes) : new Uint16Array(bytes);
    }
    return new Marginals(about, q, label);
  }
}

/** Probabilities (q/255)^2 of all labels of a pixel, or of its most probable ones. */
export class Marginals {
  constructor({label, names, labels, kept}, q, entryLabel) {
    this.axis = label;
    this.labels = labels;
    this.kept = kept;
    this.complete = entryLabel === null;
    this.names = names.length > 0 ? names : Array.from({length: labels}, (_, k) => String(k));
    this.numeric = this.names.every((name) => name.trim() !== "" && Number.isFinite(Number(name)));
    this.q = q;
    this.entryLabel = entryLabel;
  }

  /** [{label, p}] of the entries that are kept. */
  entries(pixel) {
    const begin = pixel * this.kept;
    const entries = [];
    let sum = 0;
    for (let k = 0; k < this.kept; ++k) {
      const p = (this.q[begin + k] / 255) ** 2;
      sum += p;
      entries.push({label: this.complete ? k : this.entryLabel[begin + k], p});
    }
    // Complete rows sum to one; dividing takes most of the rounding out of large probabilities.
    const total = this.complete || sum > 1 ? sum : 1;
    if (total > 0) for (const entry of entries) entry.p /= total;
    return entries;
  }

  /** [{label, p}], most probable first. */
  best(pixel, count) {
    return this.entries(pixel).sort((a, b) => b.p - a.p || a.label - b.label).slice(0, count);
  }

  /** Of every label, whether it is one of these. */
  membership(labels) {
    const inside = new Uint8Array(this.labels);
    for (const label of labels) inside[label] = 1;
    return inside;
  }

  // The next three are called for every pixel of a picture, so they create no objects.

  bestLabel(pixel) {
    const begin = pixel * this.kept;
    let best = 0;
    for (let k = 1; k < this.kept; ++k) if (this.q[begin + k] > this.q[begin + best]) best = k;
    return this.complete ? best : this.entryLabel[begin + best];
  }

  /** The probability of these labels together. */
  mass(pixel, inside) {
    const begin = pixel * this.kept;
    let sum = 0;
    let part = 0;
    for (let k = begin; k < begin + this.kept; ++k) {
      sum += SQUARES[this.q[k]];
      if (inside[this.complete ? k - begin : this.entryLabel[k]]) part += SQUARES[this.q[k]];
    }
    return part / (this.complete && sum > 0 ? sum : Math.max(1, sum));
  }

  /** In nats; -sum p log p = log s - (sum r log r) / s for p = r / s. */
  entropy(pixel) {
    const begin = pixel * this.kept;
    let sum = 0;
    let logs = 0;
    for (let k = begin; k < begin + this.kept; ++k) {
      sum += SQUARES[this.q[k]];
      logs += SQUARE_LOGS[this.q[k]];
    }
    return sum > 0 ? Math.max(0, Math.log(sum) - logs / sum) : 0;
  }
}

const SQUARES = Float64Array.from({length: 256}, (_, q) => (q / 255) ** 2);
const SQUARE_LOGS = SQUARES.map((r) => (r > 0 ? r * Math.log(r) : 0));

export const canInflate = () => typeof DecompressionStream === "function";

function readJson(id) {
  return JSON.parse(document.getElementById(id).textContent);
}

/** The bytes of a block, whose text is then given back to the browser. */
function takeBlock(number) {
  const node = document.getElementById(`block-${number}`);
  const text = atob(node.textContent);
  node.remove();
  const bytes = new Uint8Array(text.length);
  for (let k = 0; k < text.length; ++k) bytes[k] = text.charCodeAt(k);
  return bytes;
}

function inflate(bytes) {
  const stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
  return new Response(stream).arrayBuffer();
}
