/** Smaller differences may be those of the network. */
const TOLERANCE_MS = 60_000;
/** The header leaves out the part of a second. What just happened must not lie ahead. */
const SECOND_MS = 1_000;
/** How far the browser's clock is ahead of the server's. */
let aheadMs = 0;

/** Compares the clocks by the `Date` header of each response of the API. */
export function readServerClock({ headers }: Response): void {
  const differenceMs = Date.now() - Date.parse(headers.get('date') ?? '') - SECOND_MS;
  if (!Number.isNaN(differenceMs)) aheadMs = Math.abs(differenceMs) < TOLERANCE_MS ? 0 : differenceMs;
}

/** A moment of the browser's clock, which may be wrong, by the server's. */
export function serverMs(browserMs = Date.now()): number {
  return browserMs - aheadMs;
}
