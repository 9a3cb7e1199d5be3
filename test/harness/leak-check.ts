/**
 * Setup file of the projects whose test files share a process. Fails a test file that leaves behind
 * a timer, a socket, a server, a child process, fake timers, an environment variable, a listener on
 * `process` or a changed global.
 */
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, vi } from 'vitest';

/**
 * Closing sockets and ending processes take some turns of the event loop, and a busy machine may
 * pause.
 */
const CLOSING_MS = 5_000;
const LEAST_LOOKS = 50;

/** Each pino logger keeps one listener for this event until the logger is garbage-collected. */
const PINO_LISTENS_TO = 'exit';

/** Zod stores its state in globals at its first import, which may be in a test. */
const ZOD_GLOBALS = '__zod_';

interface ProcessState {
  readonly directory: string;
  readonly environment: Readonly<Record<string, string | undefined>>;
  readonly globals: ReadonlyMap<string, unknown>;
  readonly listeners: ReadonlyMap<string, number>;
  readonly resources: ReadonlyMap<string, number>;
}

let before: ProcessState;

/**
 * After a file with fake timers the next file loads its modules again: a fake timer that a module
 * still keeps never fires.
 */
let hadFakeTimers = false;
const useFakeTimers = vi.useFakeTimers;
vi.useFakeTimers = (config) => {
  hadFakeTimers = true;
  return useFakeTimers.call(vi, config);
};

beforeAll(async () => {
  // `testcontainers` listens to every signal from its first import on.
  if (process.env.TEST_LAUNCHER === 'containers') await import('testcontainers');
  before = stateOfProcess();
  // Vitest has short timers of its own, which would hide a leaked one.
  for (let look = 0; before.resources.has('Timeout') && look < 10; look++) {
    await sleep(5);
    before = stateOfProcess();
  }
});

afterAll(async () => {
  vi.useFakeTimers = useFakeTimers;
  if (hadFakeTimers) vi.resetModules();
  const left: string[] = [];
  if (vi.isFakeTimers()) {
    vi.useRealTimers();
    left.push('fake timers');
  }
  const begin = performance.now();
  let now = stateOfProcess();
  for (let look = 1; hasMore(before, now) && (look < LEAST_LOOKS || performance.now() - begin < CLOSING_MS); look++) {
    await sleep(20);
    now = stateOfProcess();
  }
  left.push(...differences(before, now));
  if (left.length > 0) throw new Error(`${expect.getState().testPath} leaves behind: ${left.join(', ')}`);
});

function stateOfProcess(): ProcessState {
  return {
    directory: process.cwd(),
    environment: { ...process.env },
    globals: new Map([
      ...Object.entries(globalThis),
      ['fetch', globalThis.fetch],
      ['Date', globalThis.Date],
      ['process.stdout.write', process.stdout.write],
      ['process.stderr.write', process.stderr.write],
      ['process.exit', process.exit],
      ['process.kill', process.kill],
    ]),
    listeners: new Map(
      process
        .eventNames()
        .filter((name) => name !== PINO_LISTENS_TO)
        .map((name) => [String(name), process.listenerCount(name)]),
    ),
    resources: counted(process.getActiveResourcesInfo()),
  };
}

function counted(names: readonly string[]): Map<string, number> {
  const counts = new Map<string, number>();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return counts;
}

/** File system requests and immediates belong to running code, this check included. */
const PASSING = /^(?:FSReq|Immediate$|TickObject|CloseReq)/;

function added(earlier: ReadonlyMap<string, number>, later: ReadonlyMap<string, number>): string[] {
  return [...later].flatMap(([name, count]) => {
    const more = count - (earlier.get(name) ?? 0);
    return more > 0 && !PASSING.test(name) ? [`${more} ${name}`] : [];
  });
}

function hasMore(earlier: ProcessState, later: ProcessState): boolean {
  return added(earlier.resources, later.resources).length > 0 || added(earlier.listeners, later.listeners).length > 0;
}

function differences(earlier: ProcessState, later: ProcessState): string[] {
  const names = new Set([...Object.keys(earlier.environment), ...Object.keys(later.environment)]);
  const variables = [...names].filter((name) => earlier.environment[name] !== later.environment[name]);
  const globals = [...later.globals].filter(
    ([name, value]) => earlier.globals.get(name) !== value && !name.startsWith(ZOD_GLOBALS),
  );
  return [
    ...added(earlier.resources, later.resources),
    ...added(earlier.listeners, later.listeners).map((listener) => `${listener} listener of process`),
    ...variables.map((name) => `process.env.${name}`),
    ...globals.map(([name]) => `another ${name}`),
    ...(earlier.directory === later.directory ? [] : [`the working directory ${later.directory}`]),
  ];
}
