import { spawnSync } from 'node:child_process';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, beforeEach, describe, expect, it, vi } from 'vitest';
import { systemClock as clock } from '#core/clock.ts';
import type { Log } from '#core/log/log.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { ChargeRefused, type ClaimedSettlement, type Settlement } from '#database/ledger/ledger.ts';
import { isClaimed } from '#database/ledger/settlement-json.ts';
import { type MemoryChargeLog, memoryChargeLog } from '#test/fixtures/memory-charge-log.ts';
import { PATIENCE_MS } from '#test/fixtures/patience.ts';
import { settlement } from './settlement.fixture.ts';
import { type Sent, Shipper } from './shipper.ts';

const log = { info() {}, warn() {}, error() {} } as unknown as Log;
const CHARGED: Sent = { kind: 'charged', ledgerEpoch: 'epoch' };
const AWAY: Sent = { kind: 'unavailable', error: new StoreUnavailable('away') };
const CLAIM = { keyHash: Buffer.alloc(32), bodyHash: Buffer.alloc(32), response: Buffer.alloc(100) };

describe('the shipper', () => {
  let chargeLog: MemoryChargeLog;
  let shipper: Shipper;
  /** Ids of each turn in which charges were sent. */
  let turns: string[][];
  let forgotten: string[];
  let answer: (one: Settlement | ClaimedSettlement, delivered: boolean) => Promise<Sent>;

  beforeEach(() => {
    chargeLog = memoryChargeLog();
    turns = [];
    forgotten = [];
    answer = async () => CHARGED;
    shipper = open();
  });
  afterEach(async () => {
    await shipper.close();
    vi.useRealTimers();
  });

  function open(): Shipper {
    let turn: string[] | undefined;
    return new Shipper({
      chargeLog,
      send(one, delivered) {
        if (turn === undefined) {
          turn = [];
          turns.push(turn);
          queueMicrotask(() => {
            turn = undefined;
          });
        }
        turn.push(one.generationId);
        return answer(one, delivered);
      },
      forget: async (generationId) => void forgotten.push(generationId),
      clock,
      log,
    });
  }

  async function add(generationId: string, changes: Partial<ClaimedSettlement> = {}): Promise<void> {
    const one = { ...settlement, generationId, ...changes };
    await chargeLog.append(one);
    shipper.add(one, true);
  }

  it('sends charges of 50 ms together, and notes their commits at once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    await add('gen-1');
    await vi.advanceTimersByTimeAsync(49);
    await add('gen-2');
    expect([turns, shipper.waitingFor(0)]).toEqual([[], ['gen-1', 'gen-2']]);
    await vi.advanceTimersByTimeAsync(1);
    expect([turns, shipper.waitingFor(0)]).toEqual([[['gen-1', 'gen-2']], []]);
    expect(chargeLog.committedGroups).toEqual([{ generationIds: ['gen-1', 'gen-2'], epoch: 'epoch' }]);
  });

  it('sends two hundred at once', async () => {
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    for (let i = 0; i < 200; i++) await add(`gen-${i}`);
    await vi.advanceTimersByTimeAsync(0);
    expect(turns.map((turn) => turn.length)).toEqual([200]);
  });

  it('sends at once a charge for which a response waits, and alone one with a stored response', async () => {
    const gate = Promise.withResolvers<void>();
    answer = async (one) => (isClaimed(one) ? CHARGED : gate.promise.then(() => CHARGED));
    await add('gen-plain');
    const plain = shipper.shipOne('gen-plain');
    await add('gen-claimed', { claim: CLAIM });
    expect(await shipper.shipOne('gen-claimed')).toEqual(CHARGED);
    gate.resolve();
    expect(await plain).toEqual(CHARGED);
  });

  it('does not keep the process busy while hundreds of charges are on their way', () => {
    // A loop that never ends would stop the tests as well, so it has a process of its own.
    const file = (path: string) => JSON.stringify(new URL(path, import.meta.url).href);
    const script = `
      const { Shipper } = await import(${file('./shipper.ts')});
      const { settlement } = await import(${file('./settlement.fixture.ts')});
      const answers = [];
      const shipper = new Shipper({
        chargeLog: { waiting: () => [], committed() {} },
        send: () => new Promise((resolve) => answers.push(resolve)),
        forget: async () => undefined,
        clock: { monotonicMs: () => performance.now() },
        log: { error() {}, warn() {} },
      });
      const claim = { keyHash: Buffer.alloc(32), bodyHash: Buffer.alloc(32), response: Buffer.alloc(100) };
      const ends = [];
      for (let i = 0; i < 500; i++) {
        shipper.add({ ...settlement, generationId: 'gen-' + i, claim }, false);
        ends.push(shipper.shipOne('gen-' + i));
      }
      await new Promise((resolve) => setTimeout(resolve, 100));
      process.stdout.write(answers.length + ' ');
      for (const answer of answers) answer({ kind: 'charged', ledgerEpoch: 'epoch' });
      await Promise.all(ends);
      process.stdout.write('ended');`;
    const options = { encoding: 'utf8', timeout: PATIENCE_MS } as const;
    const { stdout } = spawnSync(process.execPath, ['--input-type=module', '--eval', script], options);
    expect(stdout).toBe('500 ended');
  });

  it('tells the sender whether a response waits for the charge', async () => {
    const told: [string, boolean][] = [];
    answer = async ({ generationId }, delivered) => {
      told.push([generationId, delivered]);
      return delivered ? CHARGED : AWAY;
    };
    await add('gen-1');
    expect(await shipper.shipOne('gen-1')).toEqual(AWAY);
    await shipper.ship();
    expect(told).toEqual([
      ['gen-1', false],
      ['gen-1', true],
    ]);
  });

  it('retries by itself, in order, until PostgreSQL stores the charges', async () => {
    answer = async () => AWAY;
    await add('gen-1');
    await expect(shipper.ship()).rejects.toThrow('away');
    await add('gen-2');
    expect([shipper.isFailing(), shipper.waitingFor(0)]).toEqual([true, ['gen-1', 'gen-2']]);
    answer = async () => CHARGED;
    await expect.poll(() => shipper.waitingFor(0)).toEqual([]);
    expect([turns.at(-1), shipper.isFailing()]).toEqual([['gen-1', 'gen-2'], false]);
  });

  it('does not let a refused charge delay the others', async () => {
    const refused: Sent = { kind: 'refused', error: new ChargeRefused('impossible') };
    answer = async ({ generationId }) => (generationId === 'gen-2' ? refused : CHARGED);
    for (const id of ['gen-1', 'gen-2', 'gen-3']) await add(id);
    await shipper.ship();
    expect(shipper.waitingFor(0)).toEqual([]);
    expect(chargeLog.committedGroups).toEqual([
      { generationIds: ['gen-1', 'gen-3'], epoch: 'epoch' },
      { generationIds: ['gen-2'], epoch: undefined },
    ]);
  });

  it("sends an organization's charges before it reads, and gives up in time", async () => {
    await add('gen-1');
    await add('gen-2', { organizationId: 'org-2' });
    await shipper.shipOf('org-2', 1_000);
    expect(shipper.waitingFor(0)).toEqual([]);
    await shipper.shipOf('org-2', 1_000);
    const gate = Promise.withResolvers<Sent>();
    answer = () => gate.promise;
    await add('gen-3');
    vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] });
    let hasGivenUp = false;
    const read = shipper.shipOf('org-1', 30).then(() => {
      hasGivenUp = true;
    });
    await vi.advanceTimersByTimeAsync(29);
    expect(hasGivenUp).toBe(false);
    await vi.advanceTimersByTimeAsync(1);
    await read;
    gate.resolve(CHARGED);
  });

  it('sends charges of a former process, reads large responses back, and drops charges that the disk lost', async () => {
    await chargeLog.append({ ...settlement, generationId: 'gen-left' });
    shipper = open();
    answer = async () => AWAY;
    await add('gen-large', { claim: CLAIM });
    await add('gen-lost', { claim: CLAIM });
    await shipper.ship().catch(() => undefined);
    chargeLog.committed(['gen-lost'], undefined);
    const sent: (Settlement | ClaimedSettlement)[] = [];
    answer = async (one) => {
      sent.push(one);
      return CHARGED;
    };
    await shipper.ship();
    expect(sent).toMatchObject([{ generationId: 'gen-left' }, { generationId: 'gen-large', claim: CLAIM }]);
    expect([forgotten, shipper.waitingFor(0)]).toEqual([['gen-lost'], []]);
  });

  it('ends all waits when the process ends, and sends once more when it closes', async () => {
    const gate = Promise.withResolvers<Sent>();
    answer = () => gate.promise;
    await add('gen-1');
    const waiting = shipper.shipOne('gen-1');
    await sleep(1);
    shipper.waitNoMore();
    expect(await waiting).toMatchObject({ kind: 'unavailable' });
    answer = async () => CHARGED;
    await add('gen-2');
    expect(await shipper.shipOne('gen-2')).toMatchObject({ kind: 'unavailable' });
    gate.resolve(CHARGED);
    await shipper.close();
    expect(shipper.waitingFor(0)).toEqual([]);
  });
});
