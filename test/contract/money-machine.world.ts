import { appendFileSync, rmSync } from 'node:fs';
import { join } from 'node:path';
import { expect } from 'vitest';
import { DAY_MS } from '../../ext-proc/domain/clock.ts';
import { newId } from '../../ext-proc/domain/ids.ts';
import type { AccountSnapshot } from '../../ext-proc/domain/principal.ts';
import type { LimitStore } from '../../ext-proc/stores/limit-store.ts';
import { StoreUnavailable } from '../../ext-proc/stores/store-unavailable.ts';
import { createMemoryLedger } from './memory-ledger.ts';
import { type Backing, CUSTOMERS, type Customer, type Mode, OPENING } from './money-machine.mode.ts';
import { MoneyModel } from './money-machine.model.ts';
import type { Beginning, Move } from './money-machine.moves.ts';
import { type Ask, GatewayProcess, type Observer } from './money-machine.process.ts';
import { Scheduler, settled } from './money-machine.scheduler.ts';
import { type Reach, watchedStore } from './money-machine.store.ts';

const MIDNIGHT = 20_779 * DAY_MS;
const LOOK_EVERY_MS = 1_000;
const MOST_FINAL_ROUNDS = 400;
/** As long as the default of `timeouts.total` makes it. */
const QUARANTINE_MS = 960_000;

/** Everything around the machine: clocks, the reach of the stores, processes that come and go. Plays moves and asks the model. */
export class World {
  readonly ledger = createMemoryLedger();
  readonly model: MoneyModel;
  readonly #mode: Mode;
  readonly #customers: readonly Customer[];
  readonly #budgetNanoUsd: bigint;
  readonly #folder: string;
  readonly #scheduler = new Scheduler();
  readonly #slots: (GatewayProcess | undefined)[];
  readonly #bugs: unknown[] = [];
  #store: LimitStore | undefined;
  #nowMs: number;
  #wallOffsetMs = 0;
  #ledgerReach: Reach = 'here';
  #storeReach: Reach = 'here';

  constructor(mode: Mode, folder: string, { beforeMidnightMs, budgetNanoUsd }: Beginning) {
    this.#mode = mode;
    this.#folder = folder;
    this.#nowMs = MIDNIGHT - beforeMidnightMs;
    this.#budgetNanoUsd = budgetNanoUsd;
    this.model = new MoneyModel(this.ledger, mode.leaseMs, budgetNanoUsd);
    this.#slots = Array.from({ length: mode.processes }, () => undefined);
    this.#customers = mode.customers ?? CUSTOMERS;
    for (const { organizationId, keyIds } of this.#customers) {
      for (const keyId of keyIds) this.ledger.addKey(organizationId, keyId);
      this.ledger.credit(organizationId, OPENING);
    }
  }

  async play(moves: readonly Move[]): Promise<void> {
    for (const slot of this.#slots.keys()) await this.#start(slot);
    while (await this.#scheduler.step(0));
    for (const move of moves) {
      await this.#play(move);
      if (this.#bugs.length > 0) throw this.#bugs[0];
    }
    await this.#finish();
    this.model.verify();
    if (this.#bugs.length > 0) throw this.#bugs[0];
  }

  async close(): Promise<void> {
    for (const process of this.#slots) await process?.close();
    if (this.#storeIsShared) await this.#store?.close();
  }

  get #storeIsShared(): boolean {
    return Number.isFinite(this.#mode.leaseMs);
  }

  async #play(move: Move): Promise<void> {
    switch (move.kind) {
      case 'ask':
        return this.#ask(move);
      case 'steps':
        for (const pick of move.picks) await this.#scheduler.step(pick, pick % 10 < move.again % 4);
        return;
      case 'time':
        return this.#pass(move.ms);
      case 'wall':
        // A shared store goes by its own clock, which is one for all.
        if (!this.#storeIsShared) this.#wallOffsetMs += move.ms;
        return;
      case 'crash':
        return this.#crash(move.slot, move.arrives);
      case 'start':
        return this.#start(move.slot);
      case 'stall':
      case 'wake': {
        const process = this.#slots[move.slot];
        if (process) process.stalled = move.kind === 'stall';
        return;
      }
      case 'ledger':
        this.#ledgerReach = move.state;
        return;
      case 'store':
        if (move.state === 'flushed') {
          await this.#mode.flush?.();
          if (this.#mode.flush) this.model.flushed();
        } else if (this.#storeIsShared) this.#storeReach = move.state;
        return;
      case 'restore':
        return this.#restore(move.lostEntries);
      case 'credit':
        await this.#mode.backing?.credit(this.#customers[0]?.organizationId ?? '', move.nanoUsd);
        this.ledger.credit(this.#customers[0]?.organizationId ?? '', move.nanoUsd);
    }
  }

  async #ask(move: Extract<Move, { kind: 'ask' }>): Promise<void> {
    const process = this.#slots[move.slot % this.#slots.length];
    if (!process?.alive || !process.ready) return;
    const { organizationId = '', keyIds = [] } = this.#customers[move.organization] ?? {};
    for (let time = 0; time < move.times; time++) {
      const ask: Ask = {
        generationId: newId('gen', this.#nowMs),
        organizationId,
        keyId: keyIds[move.key] ?? '',
        limitNanoUsd: move.limitNanoUsd,
        tokens: Math.floor((move.limitNanoUsd * move.share) / 100),
        ending: move.ending,
      };
      this.model.asked(ask);
      void process.serve(ask);
    }
    await settled();
  }

  async #pass(ms: number): Promise<void> {
    for (let left = ms; left > 0; left -= LOOK_EVERY_MS) {
      this.#nowMs += Math.min(left, LOOK_EVERY_MS);
      for (const process of this.#slots) await this.#tick(process);
      // Leases of an hour's length are nothing that happens second by second.
      if (left > 60_000) {
        this.#nowMs += left - 60_000;
        left = 60_000;
      }
    }
  }

  async #tick(process: GatewayProcess | undefined): Promise<void> {
    if (!process?.alive || process.stalled) return;
    process.tick();
    await settled();
  }

  async #crash(slot: number, arrives: number): Promise<void> {
    const process = this.#slots[slot];
    if (!process?.alive) return;
    process.alive = false;
    let bit = 0;
    const lost = await this.#scheduler.bury(process, () => ((arrives >> (bit++ % 8)) & 1) === 1);
    await process.close();
    // What a write that was under way has left behind.
    if (lost.includes('spool append')) appendFileSync(this.#spoolPath(slot), '\n{"generationId":"gen-cut');
    this.model.died(process, !this.#storeIsShared);
    this.#slots[slot] = undefined;
  }

  async #start(slot: number): Promise<void> {
    if (slot >= this.#slots.length || this.#slots[slot]) return;
    if (!this.#store || !this.#storeIsShared) this.#store = await this.#mode.open();
    const holder: { process?: GatewayProcess } = {};
    const owner = () => holder.process ?? this;
    const process = await GatewayProcess.start({
      scheduler: this.#scheduler,
      ledger: this.ledger,
      read: (...key) => this.#read(...key),
      settle: (settlement) => this.#settle(settlement, owner),
      limits: watchedStore(this.#store, {
        model: this.model,
        owner,
        reach: () => this.#storeReach,
        nowMs: () => this.#nowMs,
        storeNowMs: () => this.#nowMs + this.#wallOffsetMs,
        check: (check) => this.#checked(check),
      }),
      clock: { nowMs: () => this.#nowMs + this.#wallOffsetMs, monotonicMs: () => this.#nowMs },
      spoolPath: this.#spoolPath(slot),
      observer: this.#observer(owner),
      budgetNanoUsd: this.#budgetNanoUsd,
    });
    holder.process = process;
    this.#slots[slot] = process;
    await settled();
  }

  async #read(...key: Parameters<Backing['read']>): Promise<AccountSnapshot> {
    if (this.#ledgerReach !== 'here') throw new StoreUnavailable('played');
    return this.#same(this.ledger.read(...key), this.#mode.backing?.read(...key));
  }

  async #same(mirror: AccountSnapshot, real: Promise<AccountSnapshot> | undefined): Promise<AccountSnapshot> {
    if (!real) return mirror;
    const snapshot = await real;
    this.#checked(() => expect({ ...mirror, ledgerEpoch: snapshot.ledgerEpoch }).toEqual(snapshot));
    return snapshot;
  }

  /** `deaf`: the commit happens and its answer is lost. */
  async #settle(settlement: Parameters<typeof this.ledger.settle>[0], owner: () => object) {
    if (this.#ledgerReach === 'away') throw new StoreUnavailable('played');
    const isNew = !this.ledger.charges().some(({ generationId }) => generationId === settlement.generationId);
    const snapshot = await this.#same(await this.ledger.settle(settlement), this.#mode.backing?.settle(settlement));
    const process = owner();
    // Nobody is admitted before a process with a store of its own has replayed.
    const isReplay = !this.#storeIsShared && process instanceof GatewayProcess && !process.ready;
    if (isNew) this.#checked(() => this.model.committed(settlement, isReplay, this.#nowMs));
    if (this.#ledgerReach === 'deaf') throw new StoreUnavailable('played');
    return snapshot;
  }

  #observer(owner: () => object): Observer {
    return {
      providerCalled: (ask, { holdNanoUsd }) =>
        this.#checked(() => this.model.providerCalled(ask, holdNanoUsd, owner())),
      providerEnded: (ask) => this.model.providerEnded(ask),
      completed: (ask) => {
        const process = owner();
        const pending = process instanceof GatewayProcess ? process.spool.pending() : [];
        const isSpooled = pending.some(({ generationId }) => generationId === ask.generationId);
        this.#checked(() => this.model.completedAnswer(ask, isSpooled));
      },
      failed: () => undefined,
      bug: (error) => void this.#bugs.push(error),
    };
  }

  async #restore(lostEntries: number): Promise<void> {
    if (this.#mode.backing) return this.#mode.backing.renewEpoch();
    const credited = this.ledger.creditedNanoUsd();
    const possible = Math.min(lostEntries, this.ledger.entryCount() - this.#customers.length);
    if (possible <= 0) return;
    const lost = this.ledger.restore(possible);
    this.model.restored(lost, credited - this.ledger.creditedNanoUsd());
  }

  /** A check that fails inside a call would look like an answer of the store. */
  #checked(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#bugs.push(error);
    }
  }

  /** All come back and everything ends: what is then in the ledger is final. */
  async #finish(): Promise<void> {
    this.#ledgerReach = 'here';
    this.#storeReach = 'here';
    for (const slot of this.#slots.keys()) {
      const process = this.#slots[slot];
      if (process) process.stalled = false;
      await this.#start(slot);
    }
    for (let round = 0; round < MOST_FINAL_ROUNDS; round++) {
      while (await this.#scheduler.step(0));
      const waiting = this.#slots.some((process) => process && process.spool.pending().length > 0);
      if (!waiting && round > 2) break;
      if (round === MOST_FINAL_ROUNDS - 1) throw new Error('the machine does not come to rest');
      await this.#pass(LOOK_EVERY_MS);
    }
    if (this.#storeIsShared) this.#nowMs += this.#mode.leaseMs + QUARANTINE_MS;
    for (const { organizationId } of this.#customers) {
      const held = await this.#store?.heldNanoUsd(organizationId, this.#nowMs + this.#wallOffsetMs);
      if (held !== 0n) throw new Error(`${held} is held of ${organizationId} and nothing is under way`);
    }
  }

  #spoolPath(slot: number): string {
    return join(this.#folder, `spool-${slot}.jsonl`);
  }

  removeSpools(): void {
    for (const slot of this.#slots.keys()) rmSync(this.#spoolPath(slot), { force: true });
  }
}
