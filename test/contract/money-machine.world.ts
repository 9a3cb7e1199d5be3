import { rmSync } from 'node:fs';
import { join } from 'node:path';
import { newId } from '#core/ids.ts';
import type { Settlement } from '#database/ledger/ledger.ts';
import type { LimitStore } from '#ext-proc/limits/limit-store.ts';
import { createMemoryLedger } from './memory-ledger.ts';
import { Books } from './money-machine.books.ts';
import { CUSTOMERS, type Customer, type Mode, OPENING } from './money-machine.mode.ts';
import { MoneyModel } from './money-machine.model.ts';
import type { Beginning, Move } from './money-machine.moves.ts';
import { type Ask, GatewayProcess, type Observer } from './money-machine.process.ts';
import { Scheduler, settled } from './money-machine.scheduler.ts';
import { type Reach, watchedStore } from './money-machine.store.ts';
import { tearLastLine } from './money-machine.torn-log.ts';

const MIDNIGHT = Date.parse('2026-12-01');
const LOOK_EVERY_MS = 1_000;
const MOST_FINAL_ROUNDS = 400;
/** The quarantine for the default of `timeouts.total`. */
const QUARANTINE_MS = 960_000;
const TOUCH_EVERY_MS = 5_000;

/** Clocks, stores and processes around the machine. Plays moves and checks the model. */
export class World {
  readonly ledger = createMemoryLedger();
  readonly model: MoneyModel;
  readonly #mode: Mode;
  readonly #books: Books;
  readonly #customers: readonly Customer[];
  readonly #budgetNanoUsd: bigint;
  readonly #folder: string;
  readonly #scheduler = new Scheduler();
  readonly #slots: (GatewayProcess | undefined)[];
  readonly #bugs: unknown[] = [];
  #store: LimitStore | undefined;
  #nowMs: number;
  #wallOffsetMs = 0;
  /** The clock of a shared store's server. */
  #serverOffsetMs = 0;
  #touchAtMs = 0;
  readonly #partlyLost = new Set<string>();
  #storeReach: Reach = 'here';

  constructor(mode: Mode, folder: string, { beforeMidnightMs, budgetNanoUsd }: Beginning) {
    this.#mode = mode;
    this.#folder = folder;
    this.#nowMs = MIDNIGHT - beforeMidnightMs;
    this.#budgetNanoUsd = budgetNanoUsd;
    this.model = new MoneyModel(this.ledger, mode.leaseMs, budgetNanoUsd);
    this.#slots = Array.from({ length: mode.processes }, () => undefined);
    this.#customers = mode.customers ?? CUSTOMERS;
    this.#books = new Books(this.ledger, mode.backing, (check) => this.#checked(check));
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
        if (this.#mode.server) this.#serverOffsetMs += move.ms;
        else if (!this.#storeIsShared) this.#wallOffsetMs += move.ms;
        return;
      case 'crash':
        return this.#crash(move.slot, move.arrives);
      case 'start':
        return this.#start(move.slot);
      case 'stall':
      case 'wake': {
        const process = this.#slots[move.slot];
        if (process) process.stalled = move.kind === 'stall';
        if (process?.stalled) this.model.cutOff(process, 'stalled');
        return;
      }
      case 'ledger':
        this.#books.reach = move.state;
        return;
      case 'store':
        if (move.state === 'flushed') {
          await this.#mode.server?.flush();
          if (this.#mode.server) this.model.forgotten(this.#nowMs);
        } else if (this.#storeIsShared) {
          this.#storeReach = move.state;
          if (move.state !== 'here') for (const each of this.#running()) this.model.cutOff(each, 'the store is away');
        }
        return;
      case 'lose': {
        const { organizationId = '' } = this.#customers[move.organization] ?? {};
        await this.#mode.server?.lose(organizationId, move.part);
        this.#partlyLost.add(organizationId);
        if (this.#mode.server) this.model.forgotten(this.#nowMs, organizationId);
        return;
      }
      case 'restore':
        return this.#restore(move.lostEntries);
      case 'credit':
        await this.#books.credit(this.#customers[0]?.organizationId ?? '', move.nanoUsd);
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
      if (this.#nowMs >= this.#touchAtMs) await this.#touch();
      for (const process of this.#slots) await this.#tick(process);
      // Long waits skip to their last minute, because nothing else happens every second.
      if (left > 60_000) {
        this.#nowMs += left - 60_000;
        left = 60_000;
      }
    }
  }

  /** Touches the store if a running process reaches it. */
  async #touch(): Promise<void> {
    this.#touchAtMs = this.#nowMs + TOUCH_EVERY_MS;
    const anybody = this.#running().some(({ stalled }) => !stalled);
    if (anybody && this.#storeReach === 'here') await this.#mode.server?.touch();
  }

  #running(): GatewayProcess[] {
    return this.#slots.filter((process) => process !== undefined).filter(({ alive }) => alive);
  }

  async #tick(process: GatewayProcess | undefined): Promise<void> {
    if (!process?.alive || process.stalled) return;
    process.tick();
    await settled();
    if (this.#scheduler.isUnderWay(process, 'renew')) this.model.cutOff(process, 'its renewal is on its way');
  }

  async #crash(slot: number, arrives: number): Promise<void> {
    const process = this.#slots[slot];
    if (!process?.alive) return;
    process.alive = false;
    let bit = 0;
    const lost = await this.#scheduler.endMessages(process, () => ((arrives >> (bit++ % 8)) & 1) === 1);
    await process.close();
    // Leaves the rest of an interrupted write.
    if (lost.includes('log append')) tearLastLine(this.#logOf(slot));
    this.model.died(process, !this.#storeIsShared);
    this.#slots[slot] = undefined;
  }

  async #start(slot: number): Promise<void> {
    if (slot >= this.#slots.length || this.#slots[slot]) return;
    if (!this.#store || !this.#storeIsShared)
      this.#store = await this.#mode.open(() => this.#nowMs + this.#serverOffsetMs);
    const holder: { process?: GatewayProcess } = {};
    const owner = () => holder.process ?? this;
    const process = await GatewayProcess.start({
      scheduler: this.#scheduler,
      ledger: this.ledger,
      read: this.#books.read,
      charge: (settlement) => this.#books.charge(settlement, () => this.#committed(settlement, owner())),
      limits: watchedStore(this.#store, {
        model: this.model,
        owner,
        reach: () => this.#storeReach,
        nowMs: () => this.#nowMs,
        storeNowMs: () => this.#nowMs + this.#wallOffsetMs,
        check: (check) => this.#checked(check),
      }),
      limitsAreShared: this.#storeIsShared,
      clock: { nowMs: () => this.#nowMs + this.#wallOffsetMs, monotonicMs: () => this.#nowMs },
      folder: this.#logOf(slot),
      observer: this.#observer(owner),
      budgetNanoUsd: this.#budgetNanoUsd,
    });
    holder.process = process;
    this.#slots[slot] = process;
    await settled();
  }

  #committed(settlement: Settlement, owner: object): void {
    // A process with its own store admits only after it has replayed its log.
    const isReplay = !this.#storeIsShared && owner instanceof GatewayProcess && !owner.ready;
    this.#checked(() => this.model.committed(settlement, isReplay, this.#nowMs));
  }

  #observer(owner: () => object): Observer {
    return {
      providerCalled: (ask, { holdNanoUsd }) =>
        this.#checked(() => this.model.providerCalled(ask, holdNanoUsd, owner())),
      providerEnded: (ask) => this.model.providerEnded(ask),
      completed: (ask) => {
        const process = owner();
        const pending = process instanceof GatewayProcess ? process.chargeLog.waiting() : [];
        const isLogged = pending.some(({ generationId }) => generationId === ask.generationId);
        this.#checked(() => this.model.completedAnswer(ask, isLogged));
      },
      failed: () => undefined,
      bug: (error) => void this.#bugs.push(error),
    };
  }

  async #restore(lostEntries: number): Promise<void> {
    const { lost, lostCreditsNanoUsd } = await this.#books.restore(lostEntries, this.#customers.length);
    this.model.restored(lost, lostCreditsNanoUsd);
  }

  #checked(check: () => void): void {
    try {
      check();
    } catch (error) {
      this.#bugs.push(error);
    }
  }

  /** All processes and stores return and all requests end, so that the ledger is final. */
  async #finish(): Promise<void> {
    this.#books.reach = 'here';
    this.#storeReach = 'here';
    for (const slot of this.#slots.keys()) {
      const process = this.#slots[slot];
      if (process) process.stalled = false;
      await this.#start(slot);
    }
    for (let round = 0; round < MOST_FINAL_ROUNDS; round++) {
      while (await this.#scheduler.step(0));
      const waiting = this.#slots.some((process) => process && process.chargeLog.waiting().length > 0);
      if (!waiting && round > 2) break;
      if (round === MOST_FINAL_ROUNDS - 1) throw new Error('the machine does not come to rest');
      await this.#pass(LOOK_EVERY_MS);
    }
    if (this.#storeIsShared) await this.#passQuarantine();
    for (const { organizationId } of this.#customers) {
      // A partly deleted hold stays until its organization was idle, by a real server's clock.
      if (this.#partlyLost.has(organizationId)) continue;
      const held = await this.#store?.heldNanoUsd(organizationId, this.#nowMs + this.#wallOffsetMs);
      if (held !== 0n) throw new Error(`${held} is held of ${organizationId} and nothing is under way`);
    }
  }

  /** Passes the quarantine. Touches the store every five seconds, so that its clock is trusted. */
  async #passQuarantine(): Promise<void> {
    const endMs = this.#nowMs + this.#mode.leaseMs + QUARANTINE_MS + TOUCH_EVERY_MS;
    const stepMs = this.#mode.server ? TOUCH_EVERY_MS : endMs - this.#nowMs;
    while (this.#nowMs < endMs) {
      this.#nowMs += stepMs;
      await this.#mode.server?.touch();
    }
  }

  #logOf(slot: number): string {
    return join(this.#folder, `log-${slot}`);
  }

  removeLogs(): void {
    for (const slot of this.#slots.keys()) rmSync(this.#logOf(slot), { recursive: true, force: true });
  }
}
