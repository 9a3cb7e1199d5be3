import { existsSync } from 'node:fs';
import { type Browser, chromium } from 'playwright-core';

/** Chromium without its own windows. It renders the same pages with 160 s of CPU instead of 293. */
const SHELL = '/usr/bin/chromium-headless-shell';

/** The machine's own Chromium, so nothing is downloaded. CI uses the full browser, as users do. */
const CANDIDATES = [
  process.env.CHROMIUM_BIN,
  ...(process.env.CI === 'true' ? [] : [SHELL]),
  '/usr/bin/chromium',
  '/usr/bin/chromium-browser',
  SHELL,
  '/usr/bin/google-chrome',
  '/Applications/Google Chrome.app/Contents/MacOS/Google Chrome',
];

const ARGUMENTS = [
  '--no-sandbox',
  '--disable-gpu',
  '--disable-quic',
  '--no-first-run',
  '--disable-background-networking',
  '--disable-component-update',
  '--disable-sync',
];

function findChromium(): string | undefined {
  return CANDIDATES.find((path) => path !== undefined && path !== '' && existsSync(path));
}

/** Why browser tests are skipped. `undefined` if they run. */
export const NO_CHROMIUM =
  findChromium() === undefined
    ? 'there is no Chromium: install it, or chromium-headless-shell, or set CHROMIUM_BIN to its path'
    : undefined;

export async function launchChromium(): Promise<Browser> {
  const executablePath = findChromium();
  if (executablePath === undefined) throw new Error(NO_CHROMIUM);
  return chromium.launch({ executablePath, headless: true, args: ARGUMENTS });
}
