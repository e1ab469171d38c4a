// Numbers as text.

const MINUS = "\u2212";
const NARROW_SPACE = "\u202f";

export const isNumber = (value) => typeof value === "number" && Number.isFinite(value);

/** Digits in groups of three from five digits on, and a true minus sign. */
export function grouped(text) {
  const match = /^(-?)(\d+)(.*)$/.exec(text);
  if (!match) return text;
  const [, sign, whole, rest] = match;
  const groups = whole.length > 4 ? whole.replace(/\B(?=(\d{3})+$)/g, NARROW_SPACE) : whole;
  return (sign ? MINUS : "") + groups + rest;
}

export function fixed(value, decimals) {
  const text = value.toFixed(decimals);
  return grouped(Number(text) === 0 ? text.replace("-", "") : text);
}

/** About `digits` significant digits, without an exponent where that is readable. */
export function significant(value, digits = 4) {
  if (!isNumber(value)) return value === null || value === undefined ? "none" : String(value);
  if (value === 0) return "0";
  const magnitude = Math.floor(Math.log10(Math.abs(value)));
  if (magnitude < -4 || magnitude > 14) return grouped(value.toExponential(digits - 1)).replace("e-", "e" + MINUS);
  const text = value.toFixed(Math.min(20, Math.max(0, digits - 1 - magnitude)));
  return grouped(text.includes(".") ? text.replace(/\.?0+$/, "") : text);
}

/** Enough decimals to tell the ends of an interval of this width apart. */
export function decimalsFor(width) {
  if (!(width > 0)) return 6;
  return Math.min(6, Math.max(1, Math.ceil(-Math.log10(width)) + 2));
}

// An interval may only grow by rounding: what is printed must still be true.
export function roundedDown(value, decimals) {
  const unit = 10 ** decimals;
  const steps = Math.floor(value * unit);
  return fixed((steps / unit > value ? steps - 1 : steps) / unit, decimals);
}

export function roundedUp(value, decimals) {
  const unit = 10 ** decimals;
  const steps = Math.ceil(value * unit);
  return fixed((steps / unit < value ? steps + 1 : steps) / unit, decimals);
}

export function percent(share) {
  if (share > 0 && share < 0.0005) return "< 0.1" + NARROW_SPACE + "%";
  return (100 * share).toFixed(1) + NARROW_SPACE + "%";
}

export function duration(seconds) {
  if (seconds < 1) return `${significant(1000 * seconds, 3)} ms`;
  if (seconds < 120) return `${significant(seconds, 3)} s`;
  if (seconds < 7200) return `${significant(seconds / 60, 3)} min`;
  return `${significant(seconds / 3600, 3)} h`;
}
