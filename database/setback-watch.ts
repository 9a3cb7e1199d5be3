import type { AccountSnapshot } from '../core/principal.ts';
import { StoreUnavailable } from '../core/store-unavailable.ts';
import type { KeyStore } from './keys/key-store.ts';
import type { Ledger } from './ledger/ledger.ts';

type Settling = Pick<Ledger, 'settle' | 'settleClaimed'>;

export interface Watched extends KeyStore, Settling {}

interface Known {
  readonly epoch: string;
  readonly sequence: number;
  /** When it was learned, in calls of this watch. */
  readonly at: number;
}

/** Organizations that are remembered: those that were served last. */
const MOST_KNOWN = 10_000;

/**
 * Second detection of a database that went back in time (0022_ledger_identity.sql): a read that
 * began after a later state of an account was known, and brings an earlier one of the same epoch,
 * comes from such a database. A hosted server may hide a promotion, and tables may be replaced
 * under connections that live on. `renewEpoch` gets the epoch, and the read fails, so that no
 * request is admitted by it.
 */
export function watchForSetbacks(
  watched: Watched,
  renewEpoch: (seen: string) => Promise<void>,
  mostKnown = MOST_KNOWN,
): Watched {
  const known = new Map<string, Known>();
  let calls = 0;

  function learn(organizationId: string, { ledgerEpoch: epoch, organization }: AccountSnapshot): void {
    const { sequence } = organization;
    const before = known.get(organizationId);
    if (before?.epoch === epoch && before.sequence >= sequence) return;
    known.delete(organizationId);
    known.set(organizationId, { epoch, sequence, at: ++calls });
    if (known.size <= mostKnown) return;
    const [oldest] = known.keys();
    if (oldest !== undefined) known.delete(oldest);
  }

  function wentBack(organizationId: string, { ledgerEpoch, organization }: AccountSnapshot, beganAt: number): boolean {
    const before = known.get(organizationId);
    if (before === undefined || before.epoch !== ledgerEpoch || before.at > beganAt) return false;
    return organization.sequence < before.sequence;
  }

  return {
    async findByHash(hash, day) {
      const beganAt = calls;
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
    async settle(settlement, onSent) {
      const account = await watched.settle(settlement, onSent);
      learn(settlement.organizationId, account);
      return account;
    },
    async settleClaimed(settlement, onSent) {
      const account = await watched.settleClaimed(settlement, onSent);
      if (account !== undefined) learn(settlement.organizationId, account);
      return account;
    },
  };
}
