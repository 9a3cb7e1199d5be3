export interface QueueBounds {
  readonly atOnce: number;
  /** In each of the two queues. */
  readonly maxWaiting: number;
}

/** `known`: somebody whose session, link or browser says so; they never wait behind strangers, nor are kept out by how many there are. */
export type Precedence = 'known' | 'stranger';

export type Turn = <T>(precedence: Precedence, work: () => Promise<T>) => Promise<T | 'busy'>;

/** Lets `atOnce` run and others wait in the order they came, the known before strangers; one too many is told at once. */
export function createHashQueue({ atOnce, maxWaiting }: QueueBounds): Turn {
  let running = 0;
  const waiting: Readonly<Record<Precedence, (() => void)[]>> = { known: [], stranger: [] };
  return async (precedence, work) => {
    const queue = waiting[precedence];
    if (running >= atOnce) {
      if (queue.length >= maxWaiting) return 'busy';
      // A turn that ends hands its place over, so that nobody who comes meanwhile takes it.
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
