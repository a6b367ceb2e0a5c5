/** A figure measured several times: its middle, and how far the measurements lay apart. */
export type Spread = { readonly median: number; readonly least: number; readonly most: number };

export function spread(values: readonly number[]): Spread {
  const sorted = [...values].sort((a, b) => a - b);
  return { median: median(sorted), least: sorted[0] ?? Number.NaN, most: sorted.at(-1) ?? Number.NaN };
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return Number.NaN;
  return sorted.length % 2 === 1 ? sorted[middle]! : (sorted[middle - 1]! + sorted[middle]!) / 2;
}

/** Of values sorted already; `share` 0.99 for the 99th percentile. */
export function percentile(sorted: Float64Array, share: number): number {
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? Number.NaN;
}
