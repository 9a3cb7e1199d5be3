/**
 * CPU of validation by body: `node test/load/validation-cpu.ts` prints a line of JSON for each. In
 * a process of its own, because code that vitest has transformed takes three times as long. With
 * two arguments, a CPU time and a step in ms, a body that took less is not repeated.
 * All times are those of the quiet machine (test/fixtures/cpu-time.ts).
 */

import { isRefusal } from '#core/errors/refusal.ts';
import { readChatRequest } from '#ext-proc/chat/read-chat-request.ts';
import type { Steps } from '#ext-proc/fairness/steps.ts';
import { cpuMsOf, slownessDuring } from '../fixtures/cpu-time.ts';
import { slowBodies } from '../fixtures/slow-bodies.ts';

/** The best is taken: code is compiled, and something else may have disturbed the others. */
const RUNS = 6;
const [enoughCpuMs = 0, enoughStepMs = 0] = process.argv.slice(2).map(Number);

export interface BodyCost {
  readonly name: string;
  readonly bytes: number;
  readonly validation: Cost;
  /**
   * The exact estimate of its tokens, which is made when the body may be too long for the model; 0
   * for a body that is refused.
   */
  readonly estimate: Cost;
}

interface Cost {
  readonly cpuMs: number;
  /** CPU of the most expensive step: the event loop continues after it. */
  readonly stepMs: number;
}

const NOTHING: Cost = { cpuMs: 0, stepMs: 0 };

function costOf<Result>(steps: Steps<Result>): Cost & { readonly result: Result } {
  let [cpuMs, stepMs] = [0, 0];
  for (;;) {
    let step: IteratorResult<undefined, Result> | undefined;
    const ms = cpuMsOf(() => {
      step = steps.next();
    });
    cpuMs += ms;
    stepMs = Math.max(stepMs, ms);
    if (step?.done === true) return { cpuMs, stepMs, result: step.value };
  }
}

function lesser(a: Cost | undefined, b: Cost, slowness: number): Cost {
  const rounded = { cpuMs: Math.round(b.cpuMs / slowness), stepMs: Math.round(b.stepMs / slowness) };
  if (a === undefined) return rounded;
  return { cpuMs: Math.min(a.cpuMs, rounded.cpuMs), stepMs: Math.min(a.stepMs, rounded.stepMs) };
}

function isEnough(cost: Cost | undefined): boolean {
  return cost !== undefined && cost.cpuMs < enoughCpuMs && cost.stepMs < enoughStepMs;
}

for (const [name, make] of slowBodies(1)) {
  const body = Buffer.from(make());
  let [validation, estimate]: (Cost | undefined)[] = [];
  for (let run = 0; run < RUNS && !(isEnough(validation) && isEnough(estimate)); run++) {
    let [cost, estimated] = [NOTHING, NOTHING];
    const slowness = slownessDuring(() => {
      const validated = costOf(readChatRequest(Buffer.from(body), undefined));
      cost = validated;
      if (!isRefusal(validated.result)) estimated = costOf(validated.result.wholeEstimate());
    });
    validation = lesser(validation, cost, slowness);
    estimate = lesser(estimate, estimated, slowness);
  }
  const row = { name, bytes: body.length, validation, estimate };
  process.stdout.write(`${JSON.stringify(row)}\n`);
}
