import { StoreUnavailable } from '../../../core/store-unavailable.ts';

export interface Waiting {
  readonly reject: (error: unknown) => void;
}

export interface GatheringBounds {
  /** In one call, so that no call keeps the server from the others for long. */
  readonly mostTogether: number;
  /** More than this are refused at once. */
  readonly mostWaiting: number;
}

interface Lane<T> {
  readonly name: string;
  waiting: T[];
  /** A call is under way, or about to be. */
  busy: boolean;
}

/**
 * Lets requests of a lane share calls: those of one turn of the event loop go together, and what comes while a call is under way goes with the
 * next. `call` answers all of its items, and never rejects.
 */
export function createGathering<T extends Waiting>(
  bounds: GatheringBounds,
  call: (items: readonly T[]) => Promise<void>,
): (laneName: string, item: T) => void {
  const lanes = new Map<string, Lane<T>>();

  async function send(lane: Lane<T>): Promise<void> {
    while (lane.waiting.length > 0) {
      const items = lane.waiting.splice(0, bounds.mostTogether);
      await call(items);
    }
    lane.busy = false;
    lanes.delete(lane.name);
  }

  return (laneName, item) => {
    let lane = lanes.get(laneName);
    if (lane === undefined) {
      lane = { name: laneName, waiting: [], busy: false };
      lanes.set(laneName, lane);
    }
    if (lane.waiting.length >= bounds.mostWaiting) {
      item.reject(new StoreUnavailable('Redis: too many calls are waiting'));
      return;
    }
    lane.waiting.push(item);
    if (lane.busy) return;
    lane.busy = true;
    setImmediate(send, lane);
  };
}
