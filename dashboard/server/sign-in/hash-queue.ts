export interface QueueBounds {
  readonly atOnce: number;
  readonly maxWaiting: number;
}

export type Turn = <T>(work: () => Promise<T>) => Promise<T | 'busy'>;

/** Lets `atOnce` run and others wait in the order they came; who would be one too many is told at once. */
export function createHashQueue({ atOnce, maxWaiting }: QueueBounds): Turn {
  let running = 0;
  const waiting: (() => void)[] = [];
  return async (work) => {
    if (running >= atOnce) {
      if (waiting.length >= maxWaiting) return 'busy';
      // Whoever ends hands the place over, so that nobody who comes meanwhile takes it.
      await new Promise<void>((resolve) => waiting.push(resolve));
    } else {
      running++;
    }
    try {
      return await work();
    } finally {
      const next = waiting.shift();
      if (next) next();
      else running--;
    }
  };
}
