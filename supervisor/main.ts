import { readFileSync, writeFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { lockFile } from '../core/lock/file-lock.mjs';
import { StoreUnavailable } from '../core/store-unavailable.ts';
import { renderBanner } from './banner.ts';
import { isStartFailure } from './children/supervised-process.ts';
import { type Customer, findCustomer, findSignIn, type SignIn } from './demo-accounts.ts';
import { demoProviderPort } from './demo-provider.ts';
import { isJournaled, keepFirstSignIn } from './first-sign-in.ts';
import { prepareFolders } from './folders.ts';
import { findListenProblem } from './listen-check.ts';
import { waitUntilServing } from './readiness.ts';
import { readSettings, type Settings } from './settings.ts';
import { type Supervisor, startSupervisor } from './supervisor.ts';

/**
 * `npm start`: PostgreSQL, demo provider, gateway processes, dashboard and Envoy as children of
 * this process, on one data folder.
 */

const READY_TIMEOUT_MS = 60_000;
const ASK_AGAIN_MS = 1_000;
/**
 * After kill -9 of a supervisor its gateway processes still charge what they delivered, and keep
 * their ports in use meanwhile.
 */
const FORMER_END_MS = 30_000;
/** One Ctrl-C arrives twice under npm: from the terminal, and passed on by npm. */
const SAME_SIGNAL_MS = 1_000;
const stopping = new AbortController();
let supervisor: Supervisor | undefined;
let failure: string | undefined;
let firstSignalMs: number | undefined;

function report(line: string): void {
  process.stderr.write(`supervisor: ${line}\n`);
}

/**
 * A second signal ends everything at once. The kernel ends the remaining children
 * (`endingWithUs`).
 */
function onStopSignal(): void {
  if (firstSignalMs === undefined) {
    firstSignalMs = performance.now();
    stopping.abort();
  } else if (performance.now() - firstSignalMs > SAME_SIGNAL_MS) {
    supervisor?.kill();
    process.exit(1);
  }
}

function giveUp(message: string): void {
  failure ??= message;
  stopping.abort();
}

async function main(): Promise<string | undefined> {
  const settings = await readSettings(process.env);
  if (typeof settings === 'string') return settings;
  const folderProblem = prepareFolders(settings.paths);
  if (folderProblem !== undefined) return folderProblem;
  const path = join(settings.paths.dataDir, 'supervisor.lock');
  const lock = await lockFile(path, 0).catch((error: Error) => error.message);
  if (typeof lock === 'string') return lock;
  const owner = readFileSync(path, 'utf8').trim();
  if (lock === undefined) {
    return `A gateway already runs on the data folder ${settings.paths.dataDir} (process ${owner}). Stop it first, or set GATEWAY_DATA to another folder.`;
  }
  // The kernel keeps the lock. The content names its owner, and remains only if that was killed.
  writeFileSync(path, `${process.pid}\n`);
  try {
    return await run(settings, owner !== '');
  } finally {
    writeFileSync(path, '');
    lock.release();
  }
}

async function run(settings: Settings, formerWasKilled: boolean): Promise<string | undefined> {
  const problem = await findListenProblem(
    listenersOf(settings),
    settings.configPath,
    formerWasKilled ? FORMER_END_MS : 0,
  );
  if (problem !== undefined) return problem;
  const started = await startSupervisor({ settings, report, gaveUp: giveUp }, stopping.signal);
  if (isStartFailure(started)) return stopping.signal.aborted ? failure : started.message;
  supervisor = started;
  try {
    await announce(settings, started);
    if (!stopping.signal.aborted) await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve));
  } finally {
    if (failure === undefined) report('stopping; requests in flight may end, a second Ctrl-C stops at once');
    await started.drain();
  }
  return failure;
}

async function announce(settings: Settings, { databaseUrl, dashboardTried }: Supervisor): Promise<void> {
  const { config } = settings;
  const notReady = await waitUntilServing(config.listen.metrics, READY_TIMEOUT_MS, stopping.signal);
  const aborted = new Promise((resolve) => stopping.signal.addEventListener('abort', resolve));
  await Promise.race([dashboardTried, aborted]);
  if (stopping.signal.aborted) return;
  if (notReady !== undefined)
    return giveUp(`The gateway was not ready after ${READY_TIMEOUT_MS / 1000} s: ${notReady}`);
  // `demo` has no effect on any database but the embedded one (docs/interface.md, "Commands").
  const wantDemo = config.demo && config.stores.postgres.kind === 'embedded';
  const customer = await onceReachable(() => findCustomer(databaseUrl, wantDemo));
  if (customer === undefined) return;
  const organizationId = wantDemo && customer.kind !== 'none' ? customer.organizationId : undefined;
  const signIn = await onceReachable(() => findSignIn(databaseUrl, organizationId));
  if (signIn !== undefined) process.stdout.write(bannerFor(settings, customer, signIn));
  // A killed process does not reach its exit.
  flushCompileCache();
}

/**
 * A journal is stored and shipped by others, so secrets that are shown once go to a file instead.
 */
function bannerFor({ env, config, paths }: Settings, customer: Customer, signIn: SignIn): string {
  const whole = renderBanner(config, customer, signIn);
  if ((customer.kind !== 'demo' && signIn.kind !== 'new') || !isJournaled(env)) return whole;
  try {
    return renderBanner(config, customer, signIn, keepFirstSignIn(paths, whole));
  } catch (error) {
    report(`the first sign-in and key cannot be kept: ${error instanceof Error ? error.message : String(error)}`);
    // This banner explains how to create others.
    const known: SignIn = signIn.kind === 'new' ? { kind: 'existing', email: signIn.email } : signIn;
    return renderBanner(config, customer.kind === 'demo' ? { ...customer, kind: 'existing' } : customer, known);
  }
}

/**
 * Waits for the database, which may become unavailable before the banner. `undefined`: a stop was
 * requested meanwhile.
 */
async function onceReachable<T>(ask: () => Promise<T>): Promise<T | undefined> {
  while (!stopping.signal.aborted) {
    try {
      return await ask();
    } catch (error) {
      if (!(error instanceof StoreUnavailable)) throw error;
      await sleep(ASK_AGAIN_MS, undefined, { signal: stopping.signal }).catch(() => undefined);
    }
  }
  return undefined;
}

function listenersOf({ config }: Settings): { setting: string; address: { host: string; port: number } }[] {
  const demoPort = demoProviderPort(config);
  return [
    { setting: 'listen.api', address: config.listen.api },
    { setting: 'listen.dashboard', address: config.listen.dashboard },
    { setting: 'listen.metrics', address: config.listen.metrics },
    ...(demoPort === undefined
      ? []
      : [{ setting: 'providers.demo.base_url', address: { host: '127.0.0.1', port: demoPort } }]),
  ];
}

process.on('SIGINT', onStopSignal);
process.on('SIGTERM', onStopSignal);
// In a terminal SIGHUP means that the terminal is closed; for a service it means a reload.
process.on('SIGHUP', () => (process.stdin.isTTY ? onStopSignal() : supervisor?.reload()));

const problem = await main();
if (problem !== undefined) {
  process.stderr.write(`\n${problem}\n\n`);
  process.exitCode = 1;
}
