import { StoreUnavailable } from '../../core/store-unavailable.ts';

export interface TurnLimits {
  /** Calls at once, of all organizations: as many as there are connections for them. */
  readonly atOnce: number;
  /** Statements of one organization at once. */
  readonly eachAtOnce: number;
  /** How many of one organization may wait for their turn, and for how long. */
  readonly eachWaiting: number;
  readonly waitMs: number;
}

/**
 * Organizations take turns at the database, so that nobody's reads, however many come at once, keep
 * another's waiting for more than one each.
 */
export interface DatabaseTurns {
  /** So many calls of the organization wait that one more is to be refused. */
  isCrowded(organizationId: string): boolean;
  /**
   * Begins the call when it is its turn. Rejects with StoreUnavailable when that takes too long,
   * and otherwise as the call does.
   */
  run<Result>(organizationId: string, call: () => Promise<Result>): Promise<Result>;
}

interface Line {
  running: number;
  /** In the order they came; each begins when it is called. */
  readonly waiting: Set<() => void>;
}

export function createDatabaseTurns({ atOnce, eachAtOnce, eachWaiting, waitMs }: TurnLimits): DatabaseTurns {
  const lines = new Map<string, Line>();
  /** Organizations that may begin another call; whose turn is next stands first. */
  const ready = new Set<string>();
  let running = 0;

  function lineOf(organizationId: string): Line {
    let line = lines.get(organizationId);
    if (line === undefined) {
      line = { running: 0, waiting: new Set() };
      lines.set(organizationId, line);
    }
    return line;
  }

  function lookAt(organizationId: string, line: Line): void {
    if (line.waiting.size > 0 && line.running < eachAtOnce) ready.add(organizationId);
    else ready.delete(organizationId);
    if (line.running === 0 && line.waiting.size === 0) lines.delete(organizationId);
  }

  function beginNext(): void {
    while (running < atOnce) {
      const [organizationId] = ready;
      if (organizationId === undefined) return;
      const line = lineOf(organizationId);
      const [begin] = line.waiting;
      if (begin === undefined) return;
      line.waiting.delete(begin);
      // To the end of the row.
      ready.delete(organizationId);
      take(organizationId, line);
      begin();
    }
  }

  function take(organizationId: string, line: Line): void {
    running += 1;
    line.running += 1;
    lookAt(organizationId, line);
  }

  function untilTurn(organizationId: string, line: Line): Promise<void> {
    return new Promise((resolve, reject) => {
      const begin = () => {
        clearTimeout(timer);
        resolve();
      };
      const timer = setTimeout(() => {
        line.waiting.delete(begin);
        lookAt(organizationId, line);
        reject(new StoreUnavailable(`no turn at the database within ${waitMs} ms`));
      }, waitMs);
      line.waiting.add(begin);
      lookAt(organizationId, line);
    });
  }

  return {
    isCrowded: (organizationId) => (lines.get(organizationId)?.waiting.size ?? 0) >= eachWaiting,
    async run(organizationId, call) {
      const line = lineOf(organizationId);
      if (running < atOnce && line.running < eachAtOnce && line.waiting.size === 0) take(organizationId, line);
      else await untilTurn(organizationId, line);
      try {
        return await call();
      } finally {
        running -= 1;
        line.running -= 1;
        lookAt(organizationId, line);
        beginNext();
      }
    },
  };
}
