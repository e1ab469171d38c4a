// What all panels share: the pixel under the cursor and the visible part of the picture.

const MAX_PIXEL_SIZE = 64;  // on the screen, in CSS pixels

export class View {
  /** Volumes have a depth; of large pictures the page has one pixel of every step x step, the full size being `full`. */
  constructor(width, height, {depth = 1, step = 1, full = [width, height]} = {}) {
    this.width = width;
    this.height = height;
    this.depth = depth;
    this.step = step;
    this.full = full;
    this.slice = Math.floor(depth / 2);
    this.x = Math.floor(width / 2);
    this.y = Math.floor(height / 2);
    this.pinned = false;
    this.pointed = false;  // the cursor is shown once something has moved it
    this.zoom = 1;  // 1: the whole picture is visible
    this.centreX = width / 2;
    this.centreY = height / 2;
    this.listeners = [];
  }

  get pixel() {
    return (this.slice * this.height + this.y) * this.width + this.x;
  }

  /** Where the pixel is in the picture as it was given. */
  get place() {
    const middle = (block, length) => Math.min(block * this.step + Math.floor(this.step / 2), length - 1);
    return [middle(this.x, this.full[0]), middle(this.y, this.full[1])];
  }

  showSlice(slice) {
    this.slice = Math.min(this.depth - 1, Math.max(0, slice));
    this.changed();
  }

  onChange(listener) {
    this.listeners.push(listener);
  }

  changed() {
    for (const listener of this.listeners) listener();
  }

  moveCursor(x, y) {
    x = Math.min(this.width - 1, Math.max(0, Math.floor(x)));
    y = Math.min(this.height - 1, Math.max(0, Math.floor(y)));
    if (this.pointed && x === this.x && y === this.y) return;
    this.pointed = true;
    this.x = x;
    this.y = y;
    this.changed();
  }

  /** By keys: unlike a pointer, the cursor may leave the part in sight, which then follows. */
  stepCursor(dx, dy) {
    this.moveCursor(this.x + dx, this.y + dy);
    const halfWidth = this.width / this.zoom / 2;
    const halfHeight = this.height / this.zoom / 2;
    this.centreX = Math.min(this.x + 0.5 + halfWidth * 0.9, Math.max(this.x + 0.5 - halfWidth * 0.9, this.centreX));
    this.centreY = Math.min(this.y + 0.5 + halfHeight * 0.9, Math.max(this.y + 0.5 - halfHeight * 0.9, this.centreY));
    this.keepInside();
    this.changed();
  }

  /** Shows the cursor where it is. */
  point() {
    this.pointed = true;
    this.changed();
  }

  pin(pinned) {
    this.pointed ||= pinned;
    this.pinned = pinned;
    this.changed();
  }

  /** Zooms so that the point (x, y) of the picture stays where it is on the screen. */
  zoomBy(factor, fit, x = this.x + 0.5, y = this.y + 0.5) {
    const most = Math.max(1, MAX_PIXEL_SIZE / fit);
    const zoom = Math.min(most, Math.max(1, this.zoom * factor));
    const ratio = this.zoom / zoom;
    this.centreX = x + (this.centreX - x) * ratio;
    this.centreY = y + (this.centreY - y) * ratio;
    this.zoom = zoom;
    this.keepInside();
    this.changed();
  }

  panBy(dx, dy) {
    this.centreX += dx;
    this.centreY += dy;
    this.keepInside();
    this.changed();
  }

  reset() {
    this.zoom = 1;
    this.keepInside();
    this.changed();
  }

  keepInside() {
    const inside = (centre, length) => {
      const half = length / this.zoom / 2;
      return Math.min(length - half, Math.max(half, centre));
    };
    this.centreX = inside(this.centreX, this.width);
    this.centreY = inside(this.centreY, this.height);
  }
}
