import { readFileSync, writeFileSync } from 'node:fs';
import { flushCompileCache } from 'node:module';
import { join } from 'node:path';
import { lockFile } from '#core/lock/file-lock.mjs';
import { collectStartGarbage } from '#core/start-garbage.ts';
import { isStartFailure } from './children/supervised-process.ts';
import { prepareFolders } from './folders.ts';
import { findListenProblem } from './listen-check.ts';
import type { Settings } from './settings.ts';
import { beginStart, type StartProcess } from './start-process.ts';
import { type Supervisor, startSupervisor } from './supervisor.ts';

/** `npm start` runs PostgreSQL, demo provider, gateways, dashboard and Envoy as its children. */

/** After a supervisor's kill -9 its gateways charge what they delivered, and keep their ports. */
const FORMER_END_MS = 30_000;
/** Under npm one Ctrl-C arrives twice: from the terminal, and forwarded by npm. */
const SAME_SIGNAL_MS = 1_000;
const stopping = new AbortController();
let supervisor: Supervisor | undefined;
let failure: string | undefined;
let firstSignalMs: number | undefined;

function report(line: string): void {
  process.stderr.write(`supervisor: ${line}\n`);
}

/** A second signal ends everything. The kernel ends remaining children (`endingWithUs`). */
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
  const start = beginStart();
  try {
    return await serve(start);
  } finally {
    start.end();
  }
}

async function serve(start: StartProcess): Promise<string | undefined> {
  const settings = await start.settings();
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
  // The kernel holds the lock. The file contains its owner's process id, which remains only if the
  // owner was killed.
  writeFileSync(path, `${process.pid}\n`);
  try {
    return await run(start, settings, owner !== '');
  } finally {
    writeFileSync(path, '');
    lock.release();
  }
}

async function run(start: StartProcess, settings: Settings, formerWasKilled: boolean): Promise<string | undefined> {
  const { listeners, configPath } = settings;
  const problem = await findListenProblem(listeners, configPath, formerWasKilled ? FORMER_END_MS : 0);
  if (problem !== undefined) return problem;
  const started = await startSupervisor({ settings, report, gaveUp: giveUp }, stopping.signal);
  if (isStartFailure(started)) return stopping.signal.aborted ? failure : started.message;
  supervisor = started;
  try {
    await announce(start, started);
    if (!stopping.signal.aborted) await new Promise((resolve) => stopping.signal.addEventListener('abort', resolve));
  } finally {
    if (failure === undefined) report('stopping; requests in flight may end, a second Ctrl-C stops at once');
    await started.drain();
  }
  return failure;
}

async function announce(start: StartProcess, { databaseUrl, dashboardTried }: Supervisor): Promise<void> {
  const aborted = new Promise<undefined>((resolve) => {
    stopping.signal.addEventListener('abort', () => resolve(undefined));
  });
  await Promise.race([dashboardTried, aborted]);
  if (stopping.signal.aborted) return;
  const problem = await Promise.race([start.announce(databaseUrl), aborted]);
  start.end();
  if (problem !== undefined) return giveUp(problem);
  // A process that is killed later would not flush at its exit.
  flushCompileCache();
  await collectStartGarbage();
}

process.on('SIGINT', onStopSignal);
process.on('SIGTERM', onStopSignal);
// SIGHUP from a terminal means that it was closed. For a service it means a reload.
process.on('SIGHUP', () => (process.stdin.isTTY ? onStopSignal() : supervisor?.reload()));

const problem = await main();
if (problem !== undefined) {
  process.stderr.write(`\n${problem}\n\n`);
  process.exitCode = 1;
}
