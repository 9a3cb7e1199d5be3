import { expect } from 'vitest';
import { firstOfMonth } from '#core/clock.ts';
import { dueNanoUsd, type Settlement } from '#database/ledger/ledger.ts';
import { type AdmissionRequest, type Admitted, type Hold, quarantineMs } from '#ext-proc/limits/limit-store.ts';
import type { MemoryLedger } from './memory-ledger.ts';
import { keyLimits } from './money-machine.budgets.ts';
import type { Ask } from './money-machine.process.ts';

/** The part of a process that the model reads. */
interface Owner {
  readonly stalled?: boolean;
}

interface Obligation {
  readonly request: AdmissionRequest;
  readonly day: number;
  readonly owner: Owner;
  /** The time of the admission, or of the registration in a store that had lost the hold. */
  admittedAtMs: number;
  expiresAtMs: number;
  /** When the store lost the hold; absent again once the hold is registered. */
  forgottenAtMs: number | undefined;
  /** Why its lease could not be renewed since the last renewal. */
  cutOff: CutOff | undefined;
  /** The exact charge, once the response has ended and the charge waits. */
  owedNanoUsd?: bigint;
}

/**
 * Causes that prevent a process from renewing in time. Only these excuse a charge after the end of
 * its hold.
 */
export type CutOff = 'stalled' | 'dead' | 'the store is away' | 'its renewal is on its way';

/**
 * Invariants 1 to 4 of docs/design.md, "Invariants", computed without any part of the machine, from
 * a list of what was admitted and may still be charged, and the ledger at that moment.
 */
export class MoneyModel {
  readonly #ledger: MemoryLedger;
  readonly #leaseMs: number;
  readonly #budgetNanoUsd: bigint;
  readonly #obligations = new Map<string, Obligation>();
  readonly #asks = new Map<string, Ask>();
  readonly #running = new Map<string, object>();
  readonly #promised = new Map<string, bigint>();
  readonly #forgotten = new Set<string>();
  /**
   * Charges after the expiry of their hold, or repeated after a restore, which the machine cannot
   * expect.
   */
  #lateNanoUsd = 0n;
  /** Credits that a restore removed, which requests that read before it still count. */
  #lostCreditsNanoUsd = 0n;
  completed = 0;
  late = 0;

  constructor(ledger: MemoryLedger, leaseMs: number, budgetNanoUsd: bigint) {
    this.#ledger = ledger;
    this.#leaseMs = leaseMs;
    this.#budgetNanoUsd = budgetNanoUsd;
  }

  asked(ask: Ask): void {
    this.#asks.set(ask.generationId, ask);
  }

  /** Checks invariant 3, and the same for the budgets, at every admission. */
  admitted(request: AdmissionRequest, { day }: Admitted, owner: Owner, nowMs: number): void {
    const { holdId, organizationId, keyId } = request;
    const known = this.#obligations.get(holdId);
    if (known) return;
    this.#obligations.set(holdId, {
      request,
      day,
      owner,
      admittedAtMs: nowMs,
      expiresAtMs: nowMs + this.#leaseMs,
      forgottenAtMs: undefined,
      cutOff: owner.stalled ? 'stalled' : undefined,
    });
    const open = this.#uncharged(organizationId, nowMs);
    const { balanceNanoUsd, spentNanoUsd } = this.#ledger.read(organizationId, keyId, day).organization;
    const readBefore = request.snapshot.ledgerEpoch !== this.#ledger.epoch;
    const unknown = this.#lateNanoUsd + (readBefore ? this.#lostCreditsNanoUsd : 0n);
    expect(balanceNanoUsd + unknown - sumOf(open), 'balance less holds').toBeGreaterThanOrEqual(0n);
    const today = open.filter((obligation) => obligation.day === day);
    const spentToday = spentNanoUsd + sumOf(today) - this.#lateNanoUsd;
    expect(spentToday, 'spend and holds of the day').toBeLessThanOrEqual(this.#budgetNanoUsd);
    const { monthSpentNanoUsd = 0n, lifetimeSpentNanoUsd = 0n } = this.#ledger.read(organizationId, keyId, day).key;
    const ofKey = open.filter((obligation) => obligation.request.keyId === keyId);
    const inMonth = ofKey.filter((obligation) => firstOfMonth(obligation.day) === firstOfMonth(day));
    const { monthlyBudgetNanoUsd, lifetimeBudgetNanoUsd } = keyLimits(this.#budgetNanoUsd);
    const spentInMonth = monthSpentNanoUsd + sumOf(inMonth) - this.#lateNanoUsd;
    expect(spentInMonth, 'spend and holds of the month').toBeLessThanOrEqual(monthlyBudgetNanoUsd);
    const spentEver = lifetimeSpentNanoUsd + sumOf(ofKey) - this.#lateNanoUsd;
    expect(spentEver, 'spend and holds of the lifetime').toBeLessThanOrEqual(lifetimeBudgetNanoUsd);
  }

  /** Checks invariant 1: every provider call was admitted. The provider may produce more. */
  providerCalled(ask: Ask, holdNanoUsd: bigint, owner: object): void {
    const obligation = this.#obligations.get(ask.generationId);
    expect(obligation?.request.holdNanoUsd).toBe(holdNanoUsd);
    this.#running.set(ask.generationId, owner);
  }

  providerEnded(ask: Ask): void {
    this.#running.delete(ask.generationId);
  }

  renewed(holds: readonly Hold[], nowMs: number): void {
    for (const { holdId, owedNanoUsd } of holds) {
      const obligation = this.#obligations.get(holdId);
      if (!obligation || (owedNanoUsd !== undefined && !this.#isHeld(obligation, nowMs))) continue;
      if (obligation.forgottenAtMs !== undefined || heldUntilMs(obligation) <= nowMs) obligation.admittedAtMs = nowMs;
      obligation.expiresAtMs = Math.max(obligation.expiresAtMs, nowMs + this.#leaseMs);
      if (owedNanoUsd !== undefined) obligation.owedNanoUsd = owedNanoUsd;
      obligation.forgottenAtMs = undefined;
      // A renewal that was sent before the stall does not excuse missing later ones.
      obligation.cutOff = obligation.owner.stalled ? 'stalled' : undefined;
    }
  }

  /**
   * The store lost everything, or a key of one organization. It admits nothing for one lease, in
   * which live holds are registered again.
   */
  forgotten(nowMs: number, organizationId?: string): void {
    for (const obligation of this.#obligations.values()) {
      if (organizationId === undefined || obligation.request.organizationId === organizationId)
        obligation.forgottenAtMs ??= nowMs;
    }
  }

  cutOff(owner: object, why: CutOff): void {
    for (const obligation of this.#obligations.values()) if (obligation.owner === owner) obligation.cutOff = why;
  }

  owed(holdId: string, owedNanoUsd: bigint, nowMs: number): void {
    const obligation = this.#obligations.get(holdId);
    if (!obligation || !this.#isHeld(obligation, nowMs)) return;
    obligation.owedNanoUsd = owedNanoUsd;
    obligation.expiresAtMs = Math.max(obligation.expiresAtMs, nowMs + this.#leaseMs);
  }

  released(holdId: string): void {
    this.#obligations.delete(holdId);
  }

  /** Checks that no charge leaves a balance below zero, whatever was late, lost or restored. */
  committed(settlement: Settlement, isCovered: boolean, nowMs: number): void {
    const { generationId, organizationId, keyId, day, costNanoUsd } = settlement;
    const obligation = this.#obligations.get(generationId);
    if (!isCovered && !(obligation && this.#isHeld(obligation, nowMs))) {
      this.#lateNanoUsd += dueNanoUsd(settlement);
      // A message repeated after a restore commits a charge again whose hold has long ended.
      if (!this.#forgotten.has(generationId)) {
        this.late += 1;
        expect(obligation?.cutOff, `why the charge of ${generationId} comes when its hold is gone`).toBeDefined();
      }
    }
    const { balanceNanoUsd } = this.#ledger.read(organizationId, keyId, day).organization;
    expect(balanceNanoUsd, 'balance at a commit').toBeGreaterThanOrEqual(0n);
    const overHoldNanoUsd = costNanoUsd - dueNanoUsd(settlement);
    const unpaidNanoUsd = this.#ledger.lostNanoUsd(generationId) - overHoldNanoUsd;
    if (this.#lateNanoUsd === 0n && this.#lostCreditsNanoUsd === 0n)
      expect(unpaidNanoUsd, 'what the balance had not left').toBe(0n);
  }

  /** Checks invariant 4: a complete response has been charged durably. */
  completedAnswer(ask: Ask, isLogged: boolean): void {
    this.completed += 1;
    this.#promised.set(ask.generationId, BigInt(ask.tokens));
    const isDurable = isLogged || this.#forgotten.has(ask.generationId) || this.#isCharged(ask.generationId);
    expect(isDurable, `the charge of ${ask.generationId} when its answer ended`).toBe(true);
  }

  restored(lost: readonly Settlement[], lostCreditsNanoUsd: bigint): void {
    for (const { generationId } of lost) this.#forgotten.add(generationId);
    this.#lostCreditsNanoUsd += lostCreditsNanoUsd;
  }

  /** A process died. If the store was in its memory, its holds are gone too. */
  died(owner: object, withItsStore: boolean): void {
    for (const [generationId, runner] of this.#running) if (runner === owner) this.#running.delete(generationId);
    if (!withItsStore) {
      this.cutOff(owner, 'dead');
      return;
    }
    for (const [holdId, obligation] of this.#obligations) {
      if (obligation.owner === owner) this.#obligations.delete(holdId);
    }
  }

  /**
   * Checks invariants 2 and 4 at the end: each charge is committed once with the right amount, and
   * none is missing.
   */
  verify(): void {
    const charges = this.#ledger.charges();
    expect(new Set(charges.map(({ generationId }) => generationId)).size).toBe(charges.length);
    for (const { generationId, costNanoUsd, cancelled } of charges) {
      const { tokens = -1, ending } = this.#asks.get(generationId) ?? {};
      expect(ending === 'whole' || cancelled, 'something was produced').toBe(true);
      const price = BigInt(cancelled ? Math.floor(tokens / 2) : tokens);
      expect(costNanoUsd + this.#ledger.lostNanoUsd(generationId)).toBe(price);
    }
    for (const [generationId, costNanoUsd] of this.#promised) {
      if (this.#forgotten.has(generationId)) continue;
      const found = charges.find((charge) => charge.generationId === generationId);
      const lost = this.#ledger.lostNanoUsd(generationId);
      expect(found && found.costNanoUsd + lost, `the charge of ${generationId}, which was answered`).toBe(costNanoUsd);
    }
  }

  #uncharged(organizationId: string, nowMs: number): Obligation[] {
    return [...this.#obligations.values()].filter(
      (obligation) =>
        obligation.request.organizationId === organizationId &&
        this.#isHeld(obligation, nowMs) &&
        !this.#isCharged(obligation.request.holdId),
    );
  }

  /** A store that lost the hold admits nothing for one lease. */
  #isHeld(obligation: Obligation, nowMs: number): boolean {
    const { forgottenAtMs } = obligation;
    return forgottenAtMs === undefined ? heldUntilMs(obligation) > nowMs : forgottenAtMs + this.#leaseMs > nowMs;
  }

  #isCharged(generationId: string): boolean {
    return this.#ledger.charges().some((charge) => charge.generationId === generationId);
  }
}

/** The end of its lease, or of the quarantine that follows (limit-store.ts). */
function heldUntilMs({ request, admittedAtMs, expiresAtMs }: Obligation): number {
  const requestEndsAtMs = admittedAtMs + quarantineMs(request);
  return expiresAtMs < requestEndsAtMs ? requestEndsAtMs : expiresAtMs + quarantineMs(request);
}

function sumOf(obligations: readonly Obligation[]): bigint {
  return obligations.reduce((sum, { request, owedNanoUsd }) => sum + (owedNanoUsd ?? request.holdNanoUsd), 0n);
}
