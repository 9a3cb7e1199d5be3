/**
 * Measures the CPU time of validating each slow body: `node test/load/validation-cpu.ts` prints a
 * JSON line for each. It runs in its own process, because code that vitest has transformed takes
 * three times as long. Two arguments, a CPU time and a step in ms, end the runs of a body below
 * both. All times are scaled to the idle machine (test/fixtures/cpu-time.ts).
 */

import { isRefusal } from '#core/errors/refusal.ts';
import { readChatRequest } from '#ext-proc/chat/read-chat-request.ts';
import type { Steps } from '#ext-proc/fairness/steps.ts';
import { cpuMsOf, slownessDuring } from '../fixtures/cpu-time.ts';
import { slowBodies } from '../fixtures/slow-bodies.ts';

/** The best run counts, because the first runs compile the code and other load disturbs some. */
const RUNS = 6;
const [enoughCpuMs = 0, enoughStepMs = 0] = process.argv.slice(2).map(Number);

export interface BodyCost {
  readonly name: string;
  readonly bytes: number;
  readonly validation: Cost;
  /**
   * Cost of the exact token estimate, which is computed if the body may exceed the context window.
   * 0 for a refused body.
   */
  readonly estimate: Cost;
}

interface Cost {
  readonly cpuMs: number;
  /** CPU time of the most expensive step. Between steps the event loop continues. */
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
