// Building elements. Texts always go in as text, so that no name or note can become markup.

/**
 * element("p", {class: "small", "data-x": 3}, "text", child, ...). Absent children are skipped.
 */
export function element(tag, attributes = {}, ...children) {
  const node = document.createElement(tag);
  for (const [name, value] of Object.entries(attributes)) {
    if (value !== undefined && value !== null) node.setAttribute(name, value);
  }
  for (const child of children.flat()) {
    if (child !== undefined && child !== null && child !== false) node.append(child);
  }
  return node;
}

export function button(text, onClick, attributes = {}) {
  const node = element("button", {type: "button", ...attributes}, text);
  node.addEventListener("click", onClick);
  return node;
}

/** The colour that a custom property of the style sheet has at present. */
export function themeColour(name) {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** Fits a canvas to its place on the screen; true when its size changed. */
export function fitCanvas(canvas) {
  const ratio = window.devicePixelRatio || 1;
  const width = Math.max(1, Math.round(canvas.clientWidth * ratio));
  const height = Math.max(1, Math.round(canvas.clientHeight * ratio));
  if (canvas.width === width && canvas.height === height) return false;
  canvas.width = width;
  canvas.height = height;
  return true;
}

/** Calls `draw` once before the next frame, however often it was asked for. */
export function drawSoon(draw) {
  let asked = false;
  return () => {
    if (asked) return;
    asked = true;
    requestAnimationFrame(() => {
      asked = false;
      draw();
    });
  };
}
