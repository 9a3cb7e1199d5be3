export interface QueueBounds {
  readonly atOnce: number;
  /** Bound of each of the two queues. */
  readonly maxWaiting: number;
}

/**
 * `known` callers have proved an earlier session, link or browser. They never wait behind
 * strangers, who cannot fill their queue either.
 */
export type Precedence = 'known' | 'stranger';

export type Turn = <T>(precedence: Precedence, work: () => Promise<T>) => Promise<T | 'busy'>;

/** Runs `atOnce` tasks. Others wait in order, known callers first. `busy`: the queue is full. */
export function createWorkQueue({ atOnce, maxWaiting }: QueueBounds): Turn {
  let running = 0;
  const waiting: Readonly<Record<Precedence, (() => void)[]>> = { known: [], stranger: [] };
  return async (precedence, work) => {
    const queue = waiting[precedence];
    if (running >= atOnce) {
      if (queue.length >= maxWaiting) return 'busy';
      // A finished task hands its slot to the next in the queue, so that a newcomer cannot take it.
      await new Promise<void>((resolve) => queue.push(resolve));
    } else {
      running++;
    }
    try {
      return await work();
    } finally {
      const next = waiting.known.shift() ?? waiting.stranger.shift();
      if (next) next();
      else running--;
    }
  };
}
