import axe from 'axe-core';
import type { Page } from 'playwright-core';

/**
 * Barriers of the page as it stands now, by the rules of axe: each with the element that breaks
 * one, as `color-contrast at main > p`. None is an empty list.
 */
export async function barriers(page: Page): Promise<string[]> {
  // A document keeps the 600 KB of it, and only violations come back: a third less CPU.
  const isThere = await page.evaluate("typeof window.axe?.run === 'function'");
  if (!isThere) await page.evaluate(axe.source);
  const violations = (await page.evaluate(
    "axe.run({ resultTypes: ['violations'] }).then(({ violations }) => violations)",
  )) as axe.Result[];
  return violations.flatMap(({ id, nodes }) => nodes.map(({ target }) => `${id} at ${target.join(' ')}`));
}

/** The same of a dialog that is open, once it has stopped moving: what moves is see-through. */
export async function barriersWhenStill(page: Page): Promise<string[]> {
  await page.evaluate('Promise.allSettled(document.getAnimations().map((animation) => animation.finished))');
  return barriers(page);
}
