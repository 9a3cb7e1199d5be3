import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { barriersWhenStill } from './barriers.ts';

/** Kept where `PICTURES` names a folder. */
const PICTURES = process.env.PICTURES;
const ALL_LOOKS = [
  ['phone-dark', 390, 'dark'],
  ['desktop-light', 1280, 'light'],
  ['phone-light', 390, 'light'],
  ['desktop-dark', 1280, 'dark'],
] as const;
/** Two that differ from each other in everything. */
export const TWO_LOOKS = ALL_LOOKS.slice(0, 2);
/** Each takes a second of CPU. */
const LOOKS = process.env.CI === 'true' || PICTURES !== undefined ? ALL_LOOKS : TWO_LOOKS;

/** Barriers of the page as it stands, and whether it is wider than the screen. */
export async function flaws(page: Page): Promise<string[]> {
  const beyond = await page.evaluate('document.documentElement.scrollWidth - window.innerWidth');
  return [...(await barriersWhenStill(page)), ...(Number(beyond) > 0 ? [`${beyond} pixels beyond the screen`] : [])];
}

/** No barrier, and nothing beyond the screen, for a phone and a desktop, dark and light. */
export async function expectGoodLooks(page: Page, name: string): Promise<void> {
  for (const [look, width, colorScheme] of LOOKS) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    expect(await flaws(page), `${name}, ${look}`).toEqual([]);
    if (PICTURES === undefined) continue;
    await mkdir(PICTURES, { recursive: true });
    await page.screenshot({ path: join(PICTURES, `${name}-${look}.png`), fullPage: true });
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
}
