import { mkdtempSync, readdirSync, rmSync, statSync, truncateSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { charge, claimed, idsIn, openLog, told } from './charge-log.fixture.ts';
import type { ChargeLog } from './charge-log.ts';
import { intent, TARGET } from './intent.fixture.ts';
import type { LoggedRequest } from './live-intents.ts';
import { chargesOfOtherEpochs } from './log-reading.ts';
import { DISK, type Disk } from './segment.ts';

/** What a machine that crashes may cut off, at any byte. */
interface Cut {
  readonly kind: 'killed' | 'machine';
  /** Part of what may be lost that is lost. */
  readonly share: number;
}

/** The real disk, which knows what it must not lose, and fails on command. */
class WatchedDisk implements Disk {
  readonly #paths = new Map<number, string>();
  readonly #durableBytes = new Map<string, number>();
  readonly #inodes = new Map<string, number>();
  #lastWrite: { path: string; from: number } | undefined;
  failing: { call: 'writeSync' | 'fdatasync' | 'openSync'; times: number } | undefined;
  dead = false;

  readonly openSync = (path: string): number => {
    this.#fail('openSync');
    const descriptor = DISK.openSync(path);
    this.#paths.set(descriptor, path);
    this.#durableBytes.set(path, 0);
    this.#inodes.set(path, statSync(path).ino);
    return descriptor;
  };

  readonly writeSync = (descriptor: number, bytes: Buffer, offset: number): number => {
    if (this.dead) throw new Error('dead');
    const path = this.#paths.get(descriptor) ?? '';
    this.#lastWrite = { path, from: statSync(path).size };
    const written = DISK.writeSync(descriptor, bytes, offset);
    this.#fail('writeSync');
    return written;
  };

  readonly fdatasync = (descriptor: number, done: (error: Error | null) => void): void => {
    const path = this.#paths.get(descriptor) ?? '';
    const { size } = statSync(path);
    DISK.fdatasync(descriptor, (error) => {
      if (this.dead) return;
      try {
        this.#fail('fdatasync');
      } catch (problem) {
        return done(problem as Error);
      }
      this.#durableBytes.set(path, Math.max(size, this.#durableBytes.get(path) ?? 0));
      done(error);
    });
  };

  readonly truncateSync = (descriptor: number, bytes: number): void => {
    if (this.dead) throw new Error('dead');
    DISK.truncateSync(descriptor, bytes);
    this.#durableBytes.set(this.#paths.get(descriptor) ?? '', bytes);
    this.#lastWrite = undefined;
  };

  /** The process dies: its last write may have been cut short. Or the machine does. */
  crash({ kind, share }: Cut): void {
    this.dead = true;
    for (const [path, durable] of this.#durableBytes) {
      const { size, ino } = statSync(path, { throwIfNoEntry: false }) ?? {};
      // What replaced a file is durable.
      if (size === undefined || ino !== this.#inodes.get(path)) continue;
      const written = this.#lastWrite?.path === path ? Math.max(this.#lastWrite.from, durable) : size;
      const from = Math.min(size, kind === 'machine' ? durable : written);
      truncateSync(path, from + Math.round((size - from) * share));
    }
  }

  #fail(call: string): void {
    if (this.dead) throw new Error('dead');
    if (this.failing?.call !== call || this.failing.times === 0) return;
    this.failing.times -= 1;
    throw new Error(`EIO: ${call}`);
  }
}

const CALL = fc.constantFrom<['writeSync', 'fdatasync', 'openSync']>('writeSync', 'fdatasync', 'openSync');
const ACTION = fc.oneof(
  { weight: 4, arbitrary: fc.constant({ do: 'ask' as const }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('deliver' as const), which: fc.nat(), tokens: fc.nat(99) }) },
  { weight: 1, arbitrary: fc.record({ do: fc.constant('release' as const), which: fc.nat() }) },
  {
    weight: 6,
    arbitrary: fc.record({ do: fc.constant('append' as const), which: fc.nat(), many: fc.integer({ min: 1, max: 4 }) }),
  },
  { weight: 3, arbitrary: fc.record({ do: fc.constant('commit' as const), which: fc.nat(), epoch: fc.nat(2) }) },
  { weight: 1, arbitrary: fc.constant({ do: 'rotate' as const }) },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant('fail' as const), call: CALL, times: fc.integer({ min: 1, max: 3 }) }),
  },
  { weight: 1, arbitrary: fc.constant({ do: 'close' as const }) },
  {
    weight: 3,
    arbitrary: fc.record({
      ...{ do: fc.constant('crash' as const), kind: fc.constantFrom<Cut['kind'][]>('killed', 'machine') },
      ...{ share: fc.double({ min: 0, max: 1, noNaN: true }), during: fc.boolean() },
    }),
  },
);
type Action = typeof ACTION extends fc.Arbitrary<infer T> ? T : never;

/** A log and what has to be true of it. */
class Model {
  readonly #folder: string;
  #disk = new WatchedDisk();
  log!: ChargeLog;
  nowMs = Date.now();
  #numbers = 0;
  /** Charges by what their append said. */
  readonly #taken = new Set<string>();
  readonly #refused = new Set<string>();
  /** Appended when the process died. */
  readonly #unknown = new Set<string>();
  /** Of the charges that were taken: told to be committed, or given up. */
  readonly #over = new Map<string, string | undefined>();
  readonly #requests = new Map<string, LoggedRequest>();
  /** Newest progress of the requests that live. */
  readonly #tokens = new Map<string, number | undefined>();
  #appends: Promise<void>[] = [];

  constructor(folder: string) {
    this.#folder = folder;
  }

  async open(): Promise<void> {
    this.#disk = new WatchedDisk();
    const clock = { nowMs: () => this.nowMs, monotonicMs: () => this.nowMs };
    this.log = await openLog(this.#folder, told(), { clock, disk: this.#disk });
  }

  async act(action: Action): Promise<void> {
    if (action.do === 'ask') this.#ask();
    else if (action.do === 'deliver') this.#deliver(action.which, action.tokens);
    else if (action.do === 'release') this.#release(action.which);
    else if (action.do === 'append') await this.#append(action.which, action.many);
    else if (action.do === 'commit') this.#commit(action.which, [undefined, 'one', 'two'][action.epoch]);
    else if (action.do === 'rotate') this.nowMs += 61_000;
    else if (action.do === 'fail') this.#disk.failing = { call: action.call, times: action.times };
    else if (action.do === 'close') await this.#close();
    else await this.#crash(action, action.during);
    await new Promise(setImmediate);
  }

  #ask(): void {
    const id = `gen-${this.#numbers++}`;
    const request = this.log.open(intent(id));
    request.asked(TARGET);
    this.#requests.set(id, request);
    this.#tokens.set(id, undefined);
  }

  #deliver(which: number, tokens: number): void {
    const id = pick([...this.#requests.keys()], which);
    if (id === undefined) return;
    this.#requests.get(id)?.delivers(() => ({ tokens, upstreamId: undefined }));
    vi.advanceTimersByTime(100);
    this.#tokens.set(id, tokens);
  }

  #release(which: number): void {
    const id = pick([...this.#requests.keys()], which);
    if (id === undefined) return;
    this.#requests.get(id)?.settled();
    this.#requests.delete(id);
    this.#tokens.delete(id);
  }

  async #append(which: number, many: number): Promise<void> {
    const ids = [pick([...this.#requests.keys()], which), ...Array.from({ length: many }, () => undefined)]
      .slice(0, many)
      .map((id) => id ?? `gen-${this.#numbers++}`);
    this.#appends = ids.map(async (id, at) => {
      this.#unknown.add(id);
      const request = this.#requests.get(id);
      this.#requests.delete(id);
      const one = at % 2 === 0 ? charge(id) : claimed(id, Buffer.alloc(100, at));
      const result = await this.log.append(one).then(
        () => this.#taken,
        () => this.#refused,
      );
      result.add(id);
      this.#unknown.delete(id);
      request?.settled();
      this.#tokens.delete(id);
    });
    // A crash may come before they are durable.
    if (which % 3 > 0) await Promise.all(this.#appends);
  }

  #commit(which: number, epoch: string | undefined): void {
    const ids = [...this.#taken].filter((id) => !this.#over.has(id));
    const some = ids.slice(0, 1 + (which % 3));
    this.log.committed(some, epoch);
    for (const id of some) this.#over.set(id, epoch);
  }

  async #close(): Promise<void> {
    await Promise.all(this.#appends);
    await this.log.close();
    await this.#reopen(this.#disk.failing ? 'failed' : 'killed');
  }

  async #crash(cut: Cut, during: boolean): Promise<void> {
    if (!during) await Promise.all(this.#appends);
    // The end of a process cuts what it was about to write, not what the disk refused.
    const how = this.#disk.failing ? 'failed' : cut.kind;
    if (!during) await new Promise(setImmediate);
    this.#disk.crash(during ? cut : { ...cut, ...(cut.kind === 'killed' ? { share: 1 } : {}) });
    await this.#reopen(during && cut.kind === 'killed' ? 'cut' : how);
  }

  /** Opens the log again, and says what must be in it. */
  async #reopen(how: Cut['kind'] | 'cut' | 'failed'): Promise<void> {
    this.#disk.dead = true;
    await this.log.close();
    await this.open();
    const waiting = idsIn(this.log);
    const recent: string[] = [];
    for await (const one of chargesOfOtherEpochs(this.#folder, 0, 'other')) recent.push(one.generationId);
    expect(new Set([...waiting, ...recent]).size, 'nothing is there twice').toBe(waiting.length + recent.length);
    for (const id of this.#refused) expect([...waiting, ...recent], 'a refused charge').not.toContain(id);
    for (const id of this.#taken) {
      if (this.#over.has(id) && this.#over.get(id) === undefined) continue;
      expect([...waiting, ...recent], `${id} was taken`).toContain(id);
      if (!this.#over.has(id)) expect(waiting, `${id} waits`).toContain(id);
      else if (how === 'killed') expect(recent, `${id} is committed`).toContain(id);
    }
    for (const id of waiting) expect((await this.log.read(id))?.generationId).toBe(id);
    this.#expectLeft(how);
    this.log.unsettledEnded();
    await new Promise(setImmediate);
    for (const id of [...this.#unknown].filter((one) => waiting.includes(one))) this.#taken.add(id);
    // What K was lost is told again.
    for (const id of waiting) this.#over.delete(id);
    for (const set of [this.#unknown, this.#requests, this.#tokens]) set.clear();
    this.#appends = [];
  }

  #expectLeft(how: Cut['kind'] | 'cut' | 'failed'): void {
    const left = new Map(this.log.unsettled.map((one) => [one.generationId, one.delivered?.tokens]));
    const charged = new Set([...this.#taken, ...idsIn(this.log)]);
    if (how === 'killed') expect(left).toEqual(new Map([...this.#tokens].filter(([id]) => !charged.has(id))));
    for (const id of left.keys()) expect(charged, 'a charge ends its request').not.toContain(id);
  }
}

function pick<T>(from: readonly T[], which: number): T | undefined {
  return from[which % Math.max(1, from.length)];
}

describe('the charge log, whatever happens to its process', () => {
  beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }));
  afterEach(() => void vi.useRealTimers());

  it('keeps every accepted charge once, no rejected one, and every request without a charge', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(ACTION, { minLength: 5, maxLength: 40 }), async (actions) => {
        const folder = mkdtempSync(join(tmpdir(), 'gw-log-'));
        try {
          const model = new Model(folder);
          await model.open();
          for (const action of actions) await model.act(action);
          await model.act({ do: 'crash', kind: 'killed', share: 1, during: false });
          await model.log.close();
          expect(readdirSync(folder).filter((name) => name.includes('damaged'))).toEqual([]);
        } finally {
          rmSync(folder, { recursive: true, maxRetries: 3 });
        }
      }),
      { numRuns: propertyRuns(100) },
    );
  });
});
