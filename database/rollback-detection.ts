import type { AccountSnapshot } from '#core/principal.ts';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { KeyStore } from './keys/key-store.ts';
import type { Ledger } from './ledger/ledger.ts';

type Charging = Pick<Ledger, 'charge' | 'chargeClaimed'>;

export interface WatchedStores extends KeyStore, Charging {}

interface Known {
  readonly epoch: string;
  readonly sequence: number;
  /** Number of this state, in the order of learning. */
  readonly at: number;
}

/** Organizations in the cache. The least recently served are evicted. */
const MOST_KNOWN = 10_000;

/**
 * Detects a database that went back in time, in addition to the timeline (note_timeline.sql): a
 * hosted server may hide a promotion, and tables may be replaced under open connections. The sign
 * is a read or charge that returns an earlier state of an account than was known when it began,
 * with the same epoch. Then `renewEpoch` is called with that epoch. A read also fails, so that no
 * request is admitted with it. A charge is committed already.
 */
export function detectRollbacks(
  watched: WatchedStores,
  renewEpoch: (seen: string) => Promise<void>,
  mostKnown = MOST_KNOWN,
): WatchedStores {
  const known = new Map<string, Known>();
  let learned = 0;

  function learn(organizationId: string, { ledgerEpoch: epoch, organization }: AccountSnapshot): void {
    const { sequence } = organization;
    const before = known.get(organizationId);
    if (before?.epoch === epoch && before.sequence >= sequence) return;
    known.delete(organizationId);
    known.set(organizationId, { epoch, sequence, at: ++learned });
    if (known.size <= mostKnown) return;
    const [oldest] = known.keys();
    if (oldest !== undefined) known.delete(oldest);
  }

  function wentBack(organizationId: string, { ledgerEpoch, organization }: AccountSnapshot, beganAt: number): boolean {
    const before = known.get(organizationId);
    if (before === undefined || before.epoch !== ledgerEpoch || before.at > beganAt) return false;
    return organization.sequence < before.sequence;
  }

  /** Callers are kept in memory, so a charge may detect a rollback seconds before the next read. */
  async function learnCharged(organizationId: string, account: AccountSnapshot, beganAt: number): Promise<void> {
    if (wentBack(organizationId, account, beganAt)) await renewEpoch(account.ledgerEpoch).catch(() => undefined);
    else learn(organizationId, account);
  }

  return {
    async findByHash(hash, day) {
      const beganAt = learned;
      const caller = await watched.findByHash(hash, day);
      if (caller === undefined) return undefined;
      const { organization, account } = caller;
      if (wentBack(organization.id, account, beganAt)) {
        await renewEpoch(account.ledgerEpoch);
        throw new StoreUnavailable('the database went back in time: its epoch is renewed');
      }
      learn(organization.id, account);
      return caller;
    },
    async charge(settlement) {
      const beganAt = learned;
      const account = await watched.charge(settlement);
      await learnCharged(settlement.organizationId, account, beganAt);
      return account;
    },
    async chargeClaimed(settlement) {
      const beganAt = learned;
      const account = await watched.chargeClaimed(settlement);
      if (account !== undefined) await learnCharged(settlement.organizationId, account, beganAt);
      return account;
    },
  };
}
