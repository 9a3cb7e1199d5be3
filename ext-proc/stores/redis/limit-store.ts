import { randomBytes } from 'node:crypto';
import { DAY_MS, MINUTE_MS } from '../../domain/clock.ts';
import type { NanoUsd } from '../../domain/money.ts';
import type { RateLimits } from '../../domain/principal.ts';
import type {
  AdmissionRequest,
  AdmissionResult,
  HoldRelease,
  LimitStore,
  LiveHold,
  ReadResult,
  Refused,
} from '../limit-store.ts';
import { StoreUnavailable } from '../store-unavailable.ts';
import { windowsLeft } from '../windows-left.ts';
import { availableAmount, takenAmount } from './amounts.ts';
import { type ConnectionOptions, connectRedis } from './connection.ts';
import { allShardKeys, organizationKeys, readsKey } from './shards.ts';

export interface RedisLimitStoreOptions extends ConnectionOptions {
  /** A hold that is not renewed for this long lapses; a store that forgot admits nothing for as long. */
  readonly leaseMs: number;
  /**
   * `server`: minutes, days and leases are by the clock of Redis, one for all processes, and `nowMs` only tells what the caller's clock says at
   * that moment. `caller`: by `nowMs`, for tests.
   */
  readonly clock: 'server' | 'caller';
  /** Organizations and keys that hold nothing are forgotten after this long without a request. */
  readonly idleMs?: number;
}

export interface RedisLimitStore extends LimitStore {
  /** Milliseconds until every shard is open to admissions. */
  opensInMs(): Promise<number>;
  /** What Redis remembers must not be believed: all shards begin anew, and are closed for one lease. */
  beginAnew(): Promise<NewBeginning>;
}

export interface NewBeginning {
  /** There are no live holds anywhere: admissions need not wait. Does nothing to a shard that forgot again since. */
  open(): Promise<void>;
}

const IDLE_MS = 600_000;
/** A loss is noticed by touching what was lost: all shards soon, so that the lease they wait is over for all of them at about the same time. */
const TOUCH_EVERY_MS = 5_000;
/** One call must not keep Redis from the others: 200 renewals take it about a millisecond. */
const MOST_RENEWALS = 200;

/** Windows, slots and holds in Redis, shared by every gateway process. The promises are the interface's; memory/limit-store.ts shows them plainly. */
export async function createRedisLimitStore(options: RedisLimitStoreOptions): Promise<RedisLimitStore> {
  const { leaseMs, log } = options;
  // What is held is never forgotten before it lapses.
  const idleMs = Math.max(options.idleMs ?? IDLE_MS, 2 * leaseMs);
  const connection = await connectRedis(options);
  const clock = (nowMs: number): string => (options.clock === 'server' ? '' : String(nowMs));

  async function admit(request: AdmissionRequest): Promise<AdmissionResult> {
    const keys = organizationKeys(request.organizationId);
    const { holdId, keyId, snapshot } = request;
    const reply = await connection.run(
      'admit',
      [keys.shard, keys.organization, keys.keyPrefix + keyId, keys.toldPrefix + keyId, keys.holds, keys.leases],
      [
        ...[clock(request.nowMs), leaseMs, idleMs, keys.keyPrefix, holdId, keyId],
        ...[request.tokens, takenAmount(request.holdNanoUsd), request.concurrency],
        ...limitArguments(request.organizationLimits),
        ...limitArguments(request.keyLimits),
        ...snapshotArguments(snapshot),
      ],
    );
    const verdict = reply as AdmitReply;
    if (verdict[0] === 'closed') keepTouched();
    return admissionResult(request, verdict);
  }

  async function release(release: HoldRelease): Promise<void> {
    const { holdId, organizationId, keyId, nowMs, tokensUsed, snapshot } = release;
    const keys = organizationKeys(organizationId);
    await connection.run(
      'release',
      [keys.shard, keys.organization, keys.keyPrefix + keyId, keys.holds, keys.leases],
      [clock(nowMs), keys.keyPrefix, holdId, tokensUsed, ...snapshotArguments(snapshot)],
    );
  }

  async function renew(holds: readonly LiveHold[], nowMs: number): Promise<readonly string[]> {
    const byOrganization = Map.groupBy(holds, (hold) => hold.organizationId);
    const calls = [...byOrganization].flatMap(([organizationId, all]) =>
      inBatches(all).map((batch) => renewBatch(organizationId, batch, nowMs)),
    );
    return (await Promise.all(calls)).flat();
  }

  async function renewBatch(organizationId: string, batch: readonly LiveHold[], nowMs: number): Promise<string[]> {
    const keys = organizationKeys(organizationId);
    const lapsed = await connection.run(
      'renew',
      [keys.shard, keys.organization, keys.holds, keys.leases],
      [
        ...[clock(nowMs), leaseMs, idleMs, keys.keyPrefix],
        ...batch.flatMap(({ holdId, keyId, day, holdNanoUsd }) => [holdId, keyId, day, takenAmount(holdNanoUsd)]),
      ],
    );
    return lapsed as string[];
  }

  async function heldNanoUsd(organizationId: string, nowMs: number): Promise<NanoUsd> {
    const keys = organizationKeys(organizationId);
    const amount = await connection.run(
      'held',
      [keys.shard, keys.organization, keys.holds, keys.leases],
      [clock(nowMs), leaseMs, keys.keyPrefix],
    );
    return BigInt(String(amount));
  }

  async function takeRead(keyId: string, readsPerMinute: number, nowMs: number): Promise<ReadResult> {
    const reply = await connection.run('takeRead', [readsKey(keyId)], [clock(nowMs), readsPerMinute]);
    const [allowed, serverNowMs, minute] = reply as [number, number, number];
    if (allowed === 1) return { allowed: true };
    return { allowed: false, resetsAtMs: (minute + 1) * MINUTE_MS + nowMs - serverNowMs };
  }

  async function touchShards(anew: boolean, nonce: string): Promise<number> {
    const touch = async (shard: string): Promise<number> =>
      Number(await connection.run('touchShard', [shard], ['', leaseMs, nonce, anew ? 1 : 0]));
    return Math.max(...(await Promise.all(allShardKeys().map(touch))));
  }

  async function beginAnew(): Promise<NewBeginning> {
    const nonce = randomBytes(9).toString('base64url');
    await touchShards(true, nonce);
    return {
      async open() {
        await Promise.all(allShardKeys().map((shard) => connection.run('openShard', [shard], [nonce])));
      },
    };
  }

  let touching = false;
  /** Times that callers make up have no part in this. */
  function keepTouched(): void {
    if (touching || options.clock === 'caller') return;
    touching = true;
    touchShards(false, '')
      .catch((error: unknown) => {
        // That Redis is away is told where the connection is kept.
        if (!(error instanceof StoreUnavailable)) log.warn({ error: String(error) }, 'Redis does not take its markers');
      })
      .finally(() => {
        touching = false;
      });
  }
  const timer = setInterval(keepTouched, TOUCH_EVERY_MS);
  timer.unref();

  return {
    admit,
    release,
    renew,
    heldNanoUsd,
    takeRead,
    opensInMs: () => touchShards(false, ''),
    beginAnew,
    async close() {
      clearInterval(timer);
      await connection.close();
    },
  };
}

/** As admit-6.lua returns it. */
type AdmitReply = readonly [
  verdict: 'closed' | 'read_again' | 'admitted' | Refused['rule'],
  serverNowMs: number,
  day: number,
  minute: number,
  availableNanoUsd: string,
  ...uses: [organizationRequests: number, organizationTokens: number, keyRequests: number, keyTokens: number],
];

function admissionResult(request: AdmissionRequest, reply: AdmitReply): AdmissionResult {
  const [verdict, serverNowMs, day, minute, available, ...uses] = reply;
  if (verdict === 'closed') {
    throw new StoreUnavailable('Redis lost what was held; admissions wait until the live holds are known again');
  }
  if (verdict === 'read_again') return { kind: 'read_again', day };
  // Moments are told by the caller's clock, so that what is left of a window is right whatever the difference between the two.
  const here = (serverMs: number): number => serverMs + request.nowMs - serverNowMs;
  const resetsAtMs = here((minute + 1) * MINUTE_MS);
  const windows = windowsLeft(
    request,
    { requests: uses[0], tokens: uses[1], resetsAtMs },
    { requests: uses[2], tokens: uses[3], resetsAtMs },
  );
  switch (verdict) {
    case 'admitted':
      return { kind: 'admitted', day, windows };
    case 'requests':
    case 'tokens':
      return { kind: 'refused', rule: verdict, resetsAtMs, availableNanoUsd: BigInt(available), windows };
    case 'daily_budget':
      return {
        kind: 'refused',
        rule: verdict,
        resetsAtMs: here((day + 1) * DAY_MS),
        availableNanoUsd: BigInt(available),
        windows,
      };
    case 'concurrency':
    case 'balance':
      return {
        kind: 'refused',
        rule: verdict,
        resetsAtMs: request.nowMs,
        availableNanoUsd: BigInt(available),
        windows,
      };
  }
}

function limitArguments(limits: RateLimits): (string | number)[] {
  const { requestsPerMinute, tokensPerMinute, dailyBudgetNanoUsd } = limits;
  return [
    requestsPerMinute ?? '',
    tokensPerMinute ?? '',
    dailyBudgetNanoUsd === undefined ? '' : availableAmount(dailyBudgetNanoUsd),
  ];
}

function snapshotArguments(snapshot: AdmissionRequest['snapshot'] | undefined): (string | number)[] {
  if (snapshot === undefined) return ['', '', '', '', '', '', '', ''];
  const { ledgerEpoch, organization, key } = snapshot;
  return [
    ledgerEpoch,
    ...[organization.sequence, organization.day, availableAmount(organization.balanceNanoUsd)],
    takenAmount(organization.spentNanoUsd),
    ...[key.sequence, key.day, takenAmount(key.spentNanoUsd)],
  ];
}

function inBatches(holds: readonly LiveHold[]): LiveHold[][] {
  const batches: LiveHold[][] = [];
  for (let from = 0; from < holds.length; from += MOST_RENEWALS) batches.push(holds.slice(from, from + MOST_RENEWALS));
  return batches;
}
