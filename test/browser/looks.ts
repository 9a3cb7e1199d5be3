import { mkdir } from 'node:fs/promises';
import { join } from 'node:path';
import type { Page } from 'playwright-core';
import { expect } from 'vitest';
import { barriersWhenStill } from './barriers.ts';

/** Folder for screenshots. Without it none are stored. */
const PICTURES = process.env.PICTURES;
const ALL_LOOKS = [
  ['phone-dark', 390, 'dark'],
  ['desktop-light', 1280, 'light'],
  ['phone-light', 390, 'light'],
  ['desktop-dark', 1280, 'dark'],
  ['wide-light', 2560, 'light'],
  ['wide-dark', 2560, 'dark'],
] as const;
/** Two looks that differ in both width and colour scheme. */
export const TWO_LOOKS = ALL_LOOKS.slice(0, 2);
/** Each look takes a second of CPU. */
const LOOKS = process.env.CI === 'true' || PICTURES !== undefined ? ALL_LOOKS : TWO_LOOKS;

/** Barriers of the current page, and content that is wider than the screen or its card. */
export async function flaws(page: Page): Promise<string[]> {
  return [...(await barriersWhenStill(page)), ...(await overflows(page))];
}

/** By how much the page is wider than the screen, and facts that their card cuts off. */
export async function overflows(page: Page): Promise<string[]> {
  const beyond = Number(await page.evaluate('document.documentElement.scrollWidth - window.innerWidth'));
  const cut = (await page.evaluate(
    `[...document.querySelectorAll('dd')].filter((fact) => fact.scrollWidth > fact.clientWidth).map((fact) => fact.innerText)`,
  )) as string[];
  return [...(beyond > 0 ? [`${beyond} pixels beyond the screen`] : []), ...cut.map((fact) => `cut off: ${fact}`)];
}

/** Stores a screenshot as `NAME.png` if `PICTURES` is set. */
export async function keepPicture(page: Page, name: string): Promise<void> {
  if (PICTURES === undefined) return;
  await mkdir(PICTURES, { recursive: true });
  await page.screenshot({ path: join(PICTURES, `${name}.png`), fullPage: true });
}

/** Highest cumulative layout shift of a loading page. */
export const MOST_SHIFT = 0.05;

/** Records layout shifts from the next loaded page on. */
export async function watchShifts(page: Page): Promise<void> {
  await page.addInitScript(`window.shifts = [];
    new PerformanceObserver((list) => {
      for (const { value, hadRecentInput, sources } of list.getEntries())
        if (!hadRecentInput) window.shifts.push({ value, of: sources.map(({ node }) => node?.className || node?.nodeName) });
    }).observe({ type: 'layout-shift', buffered: true });`);
}

/** The cumulative layout shift of the page so far and the moved elements, if it is too large. */
export async function shifts(page: Page): Promise<string[]> {
  const all = (await page.evaluate('window.shifts')) as { readonly value: number; readonly of: readonly string[] }[];
  const sum = all.reduce((total, { value }) => total + value, 0);
  if (sum < MOST_SHIFT) return [];
  return [
    `moves by ${sum.toFixed(3)}: ${all.map(({ value, of }) => `${value.toFixed(3)} ${of.join(', ')}`).join('; ')}`,
  ];
}

/** Expects no flaw on a phone and desktops, dark and light. */
export async function expectGoodLooks(page: Page, name: string): Promise<void> {
  for (const [look, width, colorScheme] of LOOKS) {
    await page.setViewportSize({ width, height: 900 });
    await page.emulateMedia({ colorScheme });
    expect(await flaws(page), `${name}, ${look}`).toEqual([]);
    await keepPicture(page, `${name}-${look}`);
  }
  await page.setViewportSize({ width: 1280, height: 900 });
  await page.emulateMedia({ colorScheme: 'light' });
}
