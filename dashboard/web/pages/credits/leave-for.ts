/** Longer than other sites usually take to appear. */
const LEAVE_MS = 15_000;

/**
 * Leaves for another site. The button of a request that resolves with this stays busy until the
 * page is left, so that nobody begins two payments. It can be used again after "Back".
 */
export function leaveFor(url: string): Promise<unknown> {
  window.location.assign(url);
  return new Promise((resolve) => {
    window.addEventListener('pageshow', resolve, { once: true });
    setTimeout(resolve, LEAVE_MS);
  });
}
