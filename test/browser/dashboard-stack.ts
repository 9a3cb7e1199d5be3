import { setTimeout as sleep } from 'node:timers/promises';
import type { Browser, Page } from 'playwright-core';
import { openDatabase } from '#dashboard/server/fairness/stores.ts';
import { createUserWithPassword } from '#operator/records/users.ts';
import { PATIENCE_MS } from '../fixtures/patience.ts';
import { BY } from '../harness/operator.ts';
import { type SupervisedStack, startSupervisedStack } from '../harness/stack.ts';
import type { TestConfig, TestModel } from '../harness/test-config.ts';
import { type FakeProvider, startFakeProvider } from '../provider/fake-provider.ts';
import { launchChromium } from './chromium.ts';

/** Everything that `npm start` runs, with a scripted provider and a browser. */
export interface DashboardStack extends SupervisedStack {
  readonly provider: FakeProvider;
  readonly browser: Browser;
  /** Creates a user and returns the password. */
  createUser(email: string, role: UserRole): Promise<string>;
}

export type UserRole = 'operator' | { readonly organizationId: string; readonly role: 'owner' | 'member' };

export async function startDashboardStack(
  postgresSocketDir: string,
  models: Readonly<Record<string, TestModel>>,
  otherProviders: readonly string[] = [],
  more: Pick<TestConfig, 'apis' | 'mail' | 'webhooks' | 'sign_in' | 'payments'> = {},
): Promise<DashboardStack> {
  const provider = await startFakeProvider();
  const stack = await startSupervisedStack({
    postgresSocketDir,
    config: {
      providers: Object.fromEntries(['fake', ...otherProviders].map((name) => [name, { base_url: provider.baseUrl }])),
      models,
      ...more,
    },
  });
  const database = openDatabase(stack.databaseUrl, { info: () => {}, warn: () => {}, error: () => {} });
  const [browser] = await Promise.all([launchChromium(), untilListening(stack.dashboardOrigin)]);
  return {
    ...stack,
    provider,
    browser,
    createUser: async (email, role) => {
      const membership = role === 'operator' ? {} : { membership: role };
      const created = await createUserWithPassword(
        database,
        { email, isOperator: role === 'operator', passwordHandedOut: true, ...membership },
        BY,
      );
      if (created.kind !== 'created') throw new Error(`${email}: ${created.kind}`);
      return created.password;
    },
    close: async () => {
      await browser.close();
      await database.end();
      await stack.close();
      await provider.close();
    },
  };
}

async function untilListening(origin: string): Promise<void> {
  const deadline = performance.now() + PATIENCE_MS;
  for (;;) {
    const live = await fetch(`${origin}/live`).then(
      (response) => response.ok,
      () => false,
    );
    if (live) return;
    if (performance.now() > deadline) throw new Error(`the dashboard does not listen on ${origin}`);
    await sleep(50);
  }
}

/**
 * A page that collects what only developers see: errors and violations of the content security
 * policy.
 */
export interface WatchedPage {
  readonly page: Page;
  /** Errors of the console and the page, except 4xx responses of the dashboard's own API. */
  complaints(): readonly string[];
}

export async function openPage(
  stack: DashboardStack,
  options: { readonly width?: number; readonly height?: number; readonly colorScheme?: 'light' | 'dark' } = {},
): Promise<WatchedPage> {
  const { width = 1280, height = 900, colorScheme = 'light' } = options;
  const context = await stack.browser.newContext({
    baseURL: stack.dashboardOrigin,
    viewport: { width, height },
    colorScheme,
    locale: 'en-GB',
    timezoneId: 'Europe/Berlin',
    reducedMotion: 'reduce',
    permissions: ['clipboard-read', 'clipboard-write'],
  });
  // Applies to each page of the context, also those that a click opens.
  context.setDefaultTimeout(PATIENCE_MS);
  const page = await context.newPage();
  const complaints: string[] = [];
  page.on('pageerror', (error) => complaints.push(error.message));
  page.on('console', (message) => {
    const isAnswer = message.text().startsWith('Failed to load resource');
    if (message.type() === 'error' && !isAnswer) complaints.push(message.text());
  });
  return { page, complaints: () => complaints };
}

export async function signIn(page: Page, email: string, password: string): Promise<void> {
  await page.goto('/sign-in');
  await page.getByLabel('Email').fill(email);
  await page.getByLabel('Password', { exact: true }).fill(password);
  await page.getByRole('button', { name: 'Sign in', exact: true }).click();
  await page.waitForURL((url) => !url.pathname.startsWith('/sign-in'));
}
