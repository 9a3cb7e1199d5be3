import { randomUUID } from 'node:crypto';
import { firstOfMonth, type UtcDay } from '#core/clock.ts';
import type { NanoUsd } from '#core/money.ts';
import type { AccountSnapshot } from '#core/principal.ts';
import { dueNanoUsd, type Ledger, type Settlement, type UsageRow } from '#database/ledger/ledger.ts';

interface Entry {
  readonly organizationId: string;
  readonly amountNanoUsd: NanoUsd;
  readonly settlement?: Settlement;
}

/**
 * A ledger for ten thousand histories: it takes microseconds where PostgreSQL takes milliseconds.
 * It fulfils the same contract (ledger.contract.ts), and can be restored to an earlier state, which
 * is slow with a database. All keys have monthly and lifetime budgets.
 */
export interface MemoryLedger extends Ledger {
  addKey(organizationId: string, keyId: string): void;
  credit(organizationId: string, amountNanoUsd: NanoUsd): void;
  /** The account snapshot that the authentication of a request reads. */
  read(organizationId: string, keyId: string, day: UtcDay): AccountSnapshot;
  /** The charged settlements, in the order of their commits. */
  charges(): readonly Settlement[];
  /** The cost of this generation that was not charged. */
  lostNanoUsd(generationId: string): NanoUsd;
  /** The sum of all credits. */
  creditedNanoUsd(): NanoUsd;
  entryCount(): number;
  readonly epoch: string;
  /**
   * Removes the last entries and changes the epoch, like a restored or promoted server. Returns the
   * lost charges.
   */
  restore(lostEntries: number): readonly Settlement[];
}

export function createMemoryLedger(): MemoryLedger {
  const entries: Entry[] = [];
  const lost = new Map<string, NanoUsd>();
  const keys = new Map<string, string>();
  let epoch = randomUUID() as string;

  const entriesOf = (organizationId: string) => entries.filter((entry) => entry.organizationId === organizationId);
  const charges = () => entries.flatMap(({ settlement }) => (settlement ? [settlement] : []));
  const chargesOf = (organizationId: string) => charges().filter((one) => one.organizationId === organizationId);
  const find = (generationId: string) => charges().find((one) => one.generationId === generationId);

  function read(organizationId: string, keyId: string, day: UtcDay): AccountSnapshot {
    const all = entriesOf(organizationId);
    const charged = chargesOf(organizationId);
    const ofDay = charged.filter((settlement) => settlement.day === day);
    const lifetime = charged.filter(ofKey(keyId));
    const month = lifetime.filter((settlement) => firstOfMonth(settlement.day) === firstOfMonth(day));
    const longer = { monthSpentNanoUsd: sum(month, costOf), lifetimeSpentNanoUsd: sum(lifetime, costOf) };
    const sequence = all.length;
    return {
      ledgerEpoch: epoch,
      organization: { sequence, balanceNanoUsd: sum(all, amountOf), day, spentNanoUsd: sum(ofDay, costOf) },
      key: { sequence, day, spentNanoUsd: sum(ofDay.filter(ofKey(keyId)), costOf), ...longer },
    };
  }

  function commit(settlement: Settlement): AccountSnapshot {
    const { generationId, organizationId, keyId, costNanoUsd, day } = settlement;
    if (keys.get(keyId) !== organizationId) throw new Error('a settlement names a key that is not of its organization');
    if (costNanoUsd < 0n) throw new Error('a charge is not negative');
    const earlier = find(generationId);
    if (earlier && earlier.organizationId !== organizationId)
      throw new Error('a generation id of another organization');
    if (!earlier) {
      const left = sum(entriesOf(organizationId), amountOf);
      const charged = least(dueNanoUsd(settlement), left > 0n ? left : 0n);
      lost.set(generationId, costNanoUsd - charged);
      entries.push({ organizationId, amountNanoUsd: -charged, settlement: { ...settlement, costNanoUsd: charged } });
    }
    return read(organizationId, keyId, day);
  }

  return {
    addKey: (organizationId, keyId) => void keys.set(keyId, organizationId),
    credit: (organizationId, amountNanoUsd) => void entries.push({ organizationId, amountNanoUsd }),
    read,
    currentEpoch: async () => epoch,
    async renewEpochAfter(seen) {
      if (epoch === seen) epoch = randomUUID();
    },
    chargedAmong: async (ids) => new Set(ids.filter((id) => find(id) !== undefined)),
    charges,
    lostNanoUsd: (generationId) => lost.get(generationId) ?? 0n,
    creditedNanoUsd: () =>
      sum(
        entries.filter(({ settlement }) => settlement === undefined),
        amountOf,
      ),
    entryCount: () => entries.length,
    get epoch() {
      return epoch;
    },
    restore(lostEntries) {
      epoch = randomUUID();
      const lost = entries.splice(Math.max(0, entries.length - lostEntries));
      return lost.flatMap(({ settlement }) => (settlement ? [settlement] : []));
    },
    charge: async (settlement) => commit(settlement),
    // Claims are not part of this model, only money.
    chargeClaimed: async (settlement) => commit(settlement),
    // Only losses of charges are stored here.
    lose: async () => undefined,
    deadLetter: async () => undefined,
    findGeneration: async (organizationId, generationId) => {
      const found = find(generationId);
      if (found?.organizationId !== organizationId) return undefined;
      const { organizationId: _, day: __, prices: ___, holdNanoUsd: ____, user: _____, ...generation } = found;
      return generation;
    },
    credits: async (organizationId) => {
      const all = entriesOf(organizationId);
      return {
        balanceNanoUsd: sum(all, amountOf),
        totalCreditsNanoUsd: sum(
          all.filter(({ settlement }) => settlement === undefined),
          amountOf,
        ),
        totalUsageNanoUsd: sum(chargesOf(organizationId), costOf),
        deadLettersNanoUsd: 0n,
      };
    },
    usage: async ({ organizationId, firstDay, lastDay, groupBy }, onPage) => {
      const asked = chargesOf(organizationId).filter(({ day }) => day >= firstDay && day <= lastDay);
      const groups = Map.groupBy(asked, ({ day, model, keyId, user = null }) =>
        JSON.stringify([
          groupBy.has('day') ? day : null,
          groupBy.has('model') ? model : null,
          groupBy.has('key') ? keyId : null,
          groupBy.has('user') ? user : null,
        ]),
      );
      onPage(
        [...groups.values()].map((group) => usageRow(group, groupBy)).toSorted((a, b) => (b.day ?? 0) - (a.day ?? 0)),
      );
      return true;
    },
  };
}

function usageRow(group: readonly Settlement[], groupBy: ReadonlySet<string>): UsageRow {
  const [first] = group;
  const tokens = (of: keyof Settlement['usage']) => group.reduce((total, { usage }) => total + usage[of], 0);
  return {
    ...(first && groupBy.has('day') ? { day: first.day } : {}),
    ...(first && groupBy.has('model') ? { model: first.model } : {}),
    ...(first && groupBy.has('key') ? { keyId: first.keyId } : {}),
    ...(first && groupBy.has('user') ? { user: first.user ?? null } : {}),
    requests: group.length,
    usage: {
      promptTokens: tokens('promptTokens'),
      completionTokens: tokens('completionTokens'),
      cachedTokens: tokens('cachedTokens'),
      cacheWriteTokens: tokens('cacheWriteTokens'),
      cacheWrite1hTokens: tokens('cacheWrite1hTokens'),
      reasoningTokens: tokens('reasoningTokens'),
    },
    costNanoUsd: sum(group, costOf),
  };
}

const amountOf = ({ amountNanoUsd }: Entry): NanoUsd => amountNanoUsd;
const costOf = ({ costNanoUsd }: Settlement): NanoUsd => costNanoUsd;
const ofKey =
  (keyId: string) =>
  (settlement: Settlement): boolean =>
    settlement.keyId === keyId;

const least = (one: NanoUsd, other: NanoUsd): NanoUsd => (one < other ? one : other);

function sum<T>(list: readonly T[], of: (item: T) => NanoUsd): NanoUsd {
  return list.reduce((total, item) => total + of(item), 0n);
}
