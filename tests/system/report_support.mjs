// What the test of the report page needs: files to make bundles of, the program, and a browser.
import {execFileSync} from "node:child_process";
import {mkdtempSync, readFileSync, rmSync, writeFileSync} from "node:fs";
import {tmpdir} from "node:os";
import {join} from "node:path";
import {deflateSync} from "node:zlib";

export const PROGRAM = process.env.SUBMARINE_PROGRAM;

export function submarine(...parts) {
  return execFileSync(PROGRAM, parts, {encoding: "utf8"});
}

/** A directory that is gone when the test is over. */
export function temporaryDirectory() {
  const path = mkdtempSync(join(tmpdir(), "submarine-report-"));
  process.on("exit", () => rmSync(path, {recursive: true, force: true}));
  return path;
}

/** The same numbers in [0, 1) in every run. */
export function randomNumbers(seed) {
  let state = seed >>> 0;
  return () => {
    state = (Math.imul(state, 1664525) + 1013904223) >>> 0;
    return state / 2 ** 32;
  };
}

// ---- Files ----

/** `values` is a Float32Array or an Int32Array. */
export function writeNpy(path, shape, values) {
  const type = values instanceof Float32Array ? "<f4" : "<i4";
  let header = `{'descr': '${type}', 'fortran_order': False, 'shape': (${shape.join(", ")}${shape.length === 1 ? "," : ""}), }`;
  header += " ".repeat(63 - ((10 + header.length) % 64)) + "\n";
  const lengths = Buffer.from([header.length & 255, header.length >> 8]);
  const body = Buffer.from(values.buffer, values.byteOffset, values.byteLength);
  writeFileSync(path, Buffer.concat([Buffer.from("\x93NUMPY\x01\x00", "latin1"), lengths, Buffer.from(header, "latin1"), body]));
}

export function readNpy(path) {
  const bytes = readFileSync(path);
  const length = bytes.readUInt16LE(8);
  const header = bytes.toString("latin1", 10, 10 + length);
  const shape = /'shape': \(([^)]*)\)/.exec(header)[1].split(",").filter((text) => text.trim()).map(Number);
  const body = bytes.subarray(10 + length);
  const values = header.includes("'<f8'") ? new Float64Array(body.buffer.slice(body.byteOffset, body.byteOffset + body.length))
    : new Float32Array(body.buffer.slice(body.byteOffset, body.byteOffset + body.length));
  return {shape, values};
}

const CRC_TABLE = Uint32Array.from({length: 256}, (_, n) => {
  for (let k = 0; k < 8; ++k) n = n & 1 ? 0xedb88320 ^ (n >>> 1) : n >>> 1;
  return n;
});

function pngChunk(type, data) {
  const body = Buffer.concat([Buffer.from(type, "latin1"), data]);
  let crc = 0xffffffff;
  for (const byte of body) crc = CRC_TABLE[(crc ^ byte) & 255] ^ (crc >>> 8);
  const ends = Buffer.alloc(8);
  ends.writeUInt32BE(data.length, 0);
  ends.writeUInt32BE((crc ^ 0xffffffff) >>> 0, 4);
  return Buffer.concat([ends.subarray(0, 4), body, ends.subarray(4)]);
}

/** `colourAt(x, y)` gives [red, green, blue]. */
export function writePng(path, width, height, colourAt) {
  const rows = Buffer.alloc(height * (1 + 3 * width));
  for (let y = 0; y < height; ++y) {
    for (let x = 0; x < width; ++x) rows.set(colourAt(x, y), y * (1 + 3 * width) + 1 + 3 * x);
  }
  const size = Buffer.alloc(13);
  size.writeUInt32BE(width, 0);
  size.writeUInt32BE(height, 4);
  size.set([8, 2, 0, 0, 0], 8);
  writeFileSync(path, Buffer.concat([Buffer.from("\x89PNG\r\n\x1a\n", "latin1"), pngChunk("IHDR", size),
    pngChunk("IDAT", deflateSync(rows)), pngChunk("IEND", Buffer.alloc(0))]));
}

/** Rows that sum to one: the softmax of noise. */
export function randomMarginals(pixels, labels, sharpness, random) {
  const values = new Float32Array(pixels * labels);
  for (let a = 0; a < pixels; ++a) {
    let sum = 0;
    for (let i = 0; i < labels; ++i) sum += values[a * labels + i] = Math.exp(sharpness * random());
    for (let i = 0; i < labels; ++i) values[a * labels + i] /= sum;
  }
  return values;
}
