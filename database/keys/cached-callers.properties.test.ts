import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Principal } from '#core/principal.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { propertyRuns } from '#test/fixtures/property-runs.ts';
import { IN_FORCE_AFTER_MS } from '../connection/in-force.ts';
import { CallerSubscription } from '../limits-ownership/caller-subscription.ts';
import { cacheCallers } from './cached-callers.ts';

const DAY = 20_778;
const ORGANIZATIONS = ['org-a', 'org-b'] as const;
type OrganizationId = (typeof ORGANIZATIONS)[number];

type Step =
  | { readonly kind: 'change' | 'find'; readonly organization: OrganizationId }
  | { readonly kind: 'deliver' | 'serve' | 'arrive' | 'return' | 'settle' | 'lose' | 'cut' | 'connect' }
  | { readonly kind: 'pass' | 'suspend'; readonly ms: number };

const organization = fc.constantFrom(...ORGANIZATIONS);
const STEPS = fc.array(
  fc.oneof(
    { weight: 3, arbitrary: fc.record({ kind: fc.constant('change' as const), organization }) },
    { weight: 6, arbitrary: fc.record({ kind: fc.constant('find' as const), organization }) },
    ...(['deliver', 'serve', 'arrive', 'return', 'settle'] as const).map((kind) => ({
      weight: kind === 'settle' ? 8 : 3,
      arbitrary: fc.record({ kind: fc.constant(kind) }),
    })),
    { weight: 1, arbitrary: fc.record({ kind: fc.constantFrom('cut' as const, 'lose' as const, 'connect' as const) }) },
    {
      weight: 3,
      arbitrary: fc.record({ kind: fc.constant('pass' as const), ms: fc.constantFrom(1, 60, 110, 240, 301) }),
    },
    { weight: 1, arbitrary: fc.record({ kind: fc.constant('suspend' as const), ms: fc.constantFrom(200, 5_000) }) },
  ),
  { minLength: 20, maxLength: 100 },
);

/** A database, a process that caches callers of it, and what is on its way between the two. */
class World {
  wallMs = 1_700_000_000_000;
  monotonicMs = 0;
  readonly #version: Record<OrganizationId, number> = { 'org-a': 0, 'org-b': 0 };
  /** The changes with the times at which they are answered. */
  readonly #changes: { readonly organization: OrganizationId; readonly version: number; readonly atMs: number }[] = [];
  /** Statements of the listening connection that have not come to PostgreSQL yet. */
  #sent: ((isProof: boolean) => void)[] = [];
  /** What PostgreSQL has sent on it, in order. */
  #pipe: (() => void)[] = [];
  /**
   * Reads on other connections: those that PostgreSQL has not begun, and those on their way back.
   */
  readonly #asked: (() => () => void)[] = [];
  readonly #read: (() => void)[] = [];
  #told: ((notification: { payload: string }) => void) | undefined;
  #foundIn: 'memory' | 'database' | undefined;
  memoryUses = 0;
  readonly stale: string[] = [];
  readonly #clock = { nowMs: () => this.wallMs, monotonicMs: () => this.monotonicMs };
  readonly #subscription = new CallerSubscription(this.#clock);
  readonly #keys = cacheCallers({
    reads: { findByHash: (hash) => this.#readCaller(hash.toString() as OrganizationId) },
    changes: this.#subscription,
    clock: this.#clock,
    onFound: (from) => {
      this.#foundIn = from;
    },
  });

  async take(step: Step): Promise<void> {
    switch (step.kind) {
      case 'change':
        return this.#change(step.organization);
      case 'find':
        return this.#find(step.organization);
      case 'deliver':
        return this.#pipe.shift()?.();
      case 'serve':
        return this.#serve();
      case 'arrive': {
        const answer = this.#asked.shift()?.();
        if (answer) this.#read.push(answer);
        return;
      }
      case 'return':
        return this.#read.shift()?.();
      case 'settle':
        while (this.#sent.length > 0) this.#serve();
        for (const arrive of this.#pipe.splice(0)) arrive();
        for (const read of this.#asked.splice(0)) this.#read.push(read());
        for (const answer of this.#read.splice(0)) answer();
        return;
      case 'lose':
        return this.#lose();
      case 'cut':
        this.#lose();
        return this.#subscription.end();
      case 'connect':
        return this.#connect();
      case 'pass':
        this.wallMs += step.ms;
        this.monotonicMs += step.ms;
        return;
      case 'suspend':
        this.wallMs += step.ms;
    }
  }

  #change(organization: OrganizationId): void {
    const version = ++this.#version[organization];
    this.#changes.push({ organization, version, atMs: this.wallMs + IN_FORCE_AFTER_MS });
    const told = this.#told;
    if (told) this.#pipe.push(() => told({ payload: organization }));
  }

  #serve(): void {
    const answer = this.#sent.shift();
    if (answer && this.#told) this.#pipe.push(() => answer(true));
  }

  /** The connection is gone, and the process does not know yet. */
  #lose(): void {
    this.#told = undefined;
    this.#sent = [];
    this.#pipe = [];
  }

  #connect(): void {
    this.#lose();
    const connection = {
      on: (_event: string, listen: (notification: { payload: string }) => void) => this.#listen(listen),
    };
    this.#subscription.begin(connection as never, () => new Promise((answer) => this.#sent.push(answer)));
  }

  #listen(listen: (notification: { payload: string }) => void) {
    this.#told = listen;
  }

  #readCaller(organization: OrganizationId): Promise<Principal> {
    return new Promise((resolve) => {
      this.#asked.push(() => {
        const caller = callerOf(organization, this.#version[organization]);
        return () => resolve(caller);
      });
    });
  }

  async #find(organization: OrganizationId): Promise<void> {
    const answered = this.#changes.filter((one) => one.organization === organization && one.atMs <= this.wallMs);
    const newest = Math.max(0, ...answered.map(({ version }) => version));
    const found = this.#keys.findByHash(Buffer.from(organization), DAY);
    if (this.#foundIn !== 'memory') return;
    this.memoryUses += 1;
    const version = (await found)?.organization.concurrency ?? 0;
    if (version < newest) this.stale.push(`${organization} of version ${version} after the answer to ${newest}`);
  }
}

function callerOf(id: OrganizationId, version: number): Principal {
  return principalWith({}, { id, concurrency: version });
}

describe('cached callers', () => {
  it('are never used by a request that begins after a change was confirmed, whatever is late or lost', async () => {
    const runs = propertyRuns(6_000);
    let memoryUses = 0;
    await fc.assert(
      fc.asyncProperty(STEPS, async (steps) => {
        const world = new World();
        await world.take({ kind: 'connect' });
        for (const step of steps) {
          await world.take(step);
          // Whoever waits for an answer gets on.
          await new Promise(setImmediate);
        }
        memoryUses += world.memoryUses;
        expect(world.stale).toEqual([]);
      }),
      { numRuns: runs },
    );
    expect(memoryUses).toBeGreaterThan(runs / 2);
  });
});
