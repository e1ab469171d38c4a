// The colour map of the program's pictures, from the table that the page carries.

export class ColourMap {
  constructor(table) {
    this.count = table.length / 6;
    this.bytes = Uint8Array.from({length: 3 * this.count}, (_, k) => parseInt(table.substr(2 * k, 2), 16));
  }

  /** [red, green, blue]; t is clamped to 0..1, NaN is grey. */
  at(t) {
    if (Number.isNaN(t)) return [128, 128, 128];
    const k = 3 * Math.round(Math.min(1, Math.max(0, t)) * (this.count - 1));
    return [this.bytes[k], this.bytes[k + 1], this.bytes[k + 2]];
  }

  gradient() {
    const stops = Array.from({length: 17}, (_, k) => `rgb(${this.at(k / 16).join(" ")})`);
    return `linear-gradient(to right, ${stops.join(", ")})`;
  }

  /** A picture of numbers in raster order on the scale from 0 to `high`. */
  picture(width, height, high, valueAt) {
    const canvas = document.createElement("canvas");
    canvas.width = width;
    canvas.height = height;
    const context = canvas.getContext("2d");
    const image = context.createImageData(width, height);
    for (let pixel = 0; pixel < width * height; ++pixel) {
      const [red, green, blue] = this.at(valueAt(pixel) / high);
      image.data.set([red, green, blue, 255], 4 * pixel);
    }
    context.putImageData(image, 0, 0);
    return canvas;
  }
}
