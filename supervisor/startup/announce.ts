import { fstatSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import type { CheckedConfig } from '#core/config/gateway-config.ts';
import type { Environment } from '#core/config/load.ts';
import { type RuntimePaths, runtimePaths } from '#core/config/runtime-paths.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { renderBanner } from './banner.ts';
import { type Customer, findCustomer, findSignIn, type SignIn } from './demo-accounts.ts';
import { waitUntilServing } from './readiness.ts';

const READY_TIMEOUT_MS = 60_000;
const ASK_AGAIN_MS = 1_000;
const STDOUT = 1;
const STDERR = 2;

/** Prints the banner once everything serves. Returns the reason if that takes too long. */
export async function announce(
  config: CheckedConfig,
  env: Environment,
  databaseUrl: string,
): Promise<string | undefined> {
  const notReady = await waitUntilServing(config.listen.metrics, READY_TIMEOUT_MS);
  if (notReady !== undefined) return `The gateway was not ready after ${READY_TIMEOUT_MS / 1000} s: ${notReady}`;
  // `demo` has an effect only with the embedded database (docs/interface.md, "Commands").
  const wantDemo = config.demo && config.stores.postgres.kind === 'embedded';
  const customer = await onceReachable(() => findCustomer(databaseUrl, wantDemo));
  const organizationId = wantDemo && customer.kind !== 'none' ? customer.organizationId : undefined;
  const signIn = await onceReachable(() => findSignIn(databaseUrl, organizationId));
  process.stdout.write(bannerFor(config, runtimePaths(env), env, customer, signIn));
  return undefined;
}

/** Retries while the database is unavailable, which it may become before the banner. */
async function onceReachable<T>(ask: () => Promise<T>): Promise<T> {
  for (;;) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await sleep(ASK_AGAIN_MS);
    }
  }
}

/** Returns the banner. A journal is stored and shipped, so one-time secrets go to a file. */
function bannerFor(
  config: CheckedConfig,
  paths: RuntimePaths,
  env: Environment,
  customer: Customer,
  signIn: SignIn,
): string {
  const whole = renderBanner(config, customer, signIn, env);
  if ((customer.kind !== 'demo' && signIn.kind !== 'new') || !isJournaled(env)) return whole;
  try {
    return renderBanner(config, customer, signIn, env, keepFirstSignIn(paths, whole));
  } catch (error) {
    const why = error instanceof Error ? error.message : String(error);
    process.stderr.write(`supervisor: the first sign-in and key cannot be kept: ${why}\n`);
    // The banner without them explains how to create others.
    const known: SignIn = signIn.kind === 'new' ? { kind: 'existing', email: signIn.email } : signIn;
    return renderBanner(config, customer.kind === 'demo' ? { ...customer, kind: 'existing' } : customer, known, env);
  }
}

/**
 * True if the output goes to systemd's journal. JOURNAL_STREAM contains device and inode of that
 * stream, or of one of the two outputs if they differ (systemd.exec(5)). It is inherited, so this
 * process's outputs may be others.
 */
export function isJournaled(env: Readonly<Record<string, string | undefined>>): boolean {
  return [STDOUT, STDERR].some((descriptor) => {
    const { dev, ino } = fstatSync(descriptor, { bigint: true });
    return env.JOURNAL_STREAM === `${dev}:${ino}`;
  });
}

/** Writes a file that only its owner can read. Throws if it cannot be written. */
function keepFirstSignIn({ dataDir }: Pick<RuntimePaths, 'dataDir'>, text: string): string {
  const path = join(dataDir, 'first-sign-in');
  // Removed first, because an existing file would keep its mode.
  rmSync(path, { force: true });
  writeFileSync(path, text, { mode: 0o600, flag: 'wx' });
  return path;
}
