import { StoreUnavailable } from '#core/store-unavailable.ts';
import type { LimitStore } from '#ext-proc/limits/limit-store.ts';
import type { MoneyModel } from './money-machine.model.ts';

/** `deaf` means that calls are executed and their replies are lost. */
export type Reach = 'here' | 'away' | 'deaf';

export interface Watch {
  readonly model: MoneyModel;
  readonly owner: () => object;
  readonly reach: () => Reach;
  readonly nowMs: () => number;
  /** The store's clock: that of its server, or of the process that it is in. */
  readonly storeNowMs: () => number;
  /** Runs checks, whose failure inside a call would look like a failure of the store. */
  readonly check: (check: () => void) => void;
}

/** The store as a process reaches it. The model observes its decisions. */
export function watchedStore(store: LimitStore, { model, owner, reach, nowMs, storeNowMs, check }: Watch): LimitStore {
  const reached = async <T>(work: () => Promise<T>): Promise<T> => {
    if (reach() === 'away') throw new StoreUnavailable('played');
    const result = await work();
    if (reach() === 'deaf') throw new StoreUnavailable('played');
    return result;
  };
  return {
    ...store,
    admit: (request) =>
      reached(async () => {
        const result = await store.admit({ ...request, nowMs: storeNowMs() });
        if (result.kind === 'admitted') check(() => model.admitted(request, result, owner(), nowMs()));
        return result;
      }),
    release: (release) =>
      reached(async () => {
        await store.release({ ...release, nowMs: storeNowMs() });
        const { holdId, owedNanoUsd } = release;
        if (owedNanoUsd === undefined) model.released(holdId);
        else model.owed(holdId, owedNanoUsd, nowMs());
      }),
    renew: (holds) =>
      reached(async () => {
        const renewal = await store.renew(holds, storeNowMs());
        const failed = new Set(renewal.failed.flatMap(({ holdIds }) => holdIds));
        const kept = holds.filter(({ holdId }) => !failed.has(holdId));
        model.renewed(kept, nowMs());
        return renewal;
      }),
  };
}
