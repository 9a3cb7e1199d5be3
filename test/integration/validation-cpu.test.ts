import { describe, expect, test } from 'vitest';
import { readChatRequest } from '../../ext-proc/admission/read-chat-request.ts';
import { isRefusal } from '../../ext-proc/errors/refusal.ts';
import { cpuMsOf } from '../fixtures/cpu-time.ts';
import { slowBodies } from '../fixtures/slow-bodies.ts';

/** Of validation and of the exact estimate, each. */
const MOST_CPU_MS = 150;
/** The event loop goes on after it. */
const MOST_STEP_MS = 50;

interface Cost {
  readonly wholeMs: number;
  readonly stepMs: number;
}

/** Of all steps. */
function costOf<Result>(steps: Generator<undefined, Result, undefined>): Cost & { result: Result } {
  let [wholeMs, stepMs] = [0, 0];
  for (;;) {
    let step: IteratorResult<undefined, Result> | undefined;
    const ms = cpuMsOf(() => {
      step = steps.next();
    });
    wholeMs += ms;
    stepMs = Math.max(stepMs, ms);
    if (step?.done === true) return { wholeMs, stepMs, result: step.value };
  }
}

/** The best of three: code is compiled, and something else may have disturbed the others. */
function bestOf(costs: readonly Cost[]): Cost {
  const least = (of: (cost: Cost) => number) => Math.min(...costs.map(of));
  return { wholeMs: least(({ wholeMs }) => wholeMs), stepMs: least(({ stepMs }) => stepMs) };
}

describe('CPU by body', () => {
  test.each(slowBodies(1))('%s', (_, make) => {
    const text = make();
    expect(Buffer.byteLength(text)).toBeLessThanOrEqual(20 * 1024 * 1024);
    const [validations, estimates]: [Cost[], Cost[]] = [[], []];
    for (let run = 0; run < 3; run++) {
      const validated = costOf(readChatRequest(Buffer.from(text), undefined));
      validations.push(validated);
      if (!isRefusal(validated.result)) estimates.push(costOf(validated.result.wholeEstimate()));
    }
    for (const { wholeMs, stepMs } of [bestOf(validations), ...(estimates.length > 0 ? [bestOf(estimates)] : [])]) {
      expect(wholeMs).toBeLessThan(MOST_CPU_MS);
      expect(stepMs).toBeLessThan(MOST_STEP_MS);
    }
  });
});
