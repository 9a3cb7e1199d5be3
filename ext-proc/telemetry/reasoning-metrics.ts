import { Counter, Gauge, type Registry } from 'prom-client';
import type { KeptReasoningResult } from '../limits/reasoning/reasoning-store.ts';

/** Reasoning that is kept for clients that do not send it back. */
export interface ReasoningMetrics {
  reasoningKept(result: KeptReasoningResult | 'evicted', messages: number): void;
  /** Registers the gauge of the bytes that this process has kept, read at each scrape. */
  watchReasoning(heldBytes: () => number): void;
}

const RESULTS = ['kept', 'full', 'found', 'missing', 'evicted', 'unavailable'] as const;

export function createReasoningMetrics(registers: Registry[]): ReasoningMetrics {
  const messages = new Counter({
    name: 'gateway_kept_reasoning_messages_total',
    help: 'Assistant messages with tool calls whose reasoning was kept for the next turn, by result: kept, full (too large, or no memory), found, missing (never kept, expired, evicted, or other calls), evicted, unavailable (the store did not reply in time).',
    labelNames: ['result'],
    registers,
  });
  for (const result of RESULTS) messages.inc({ result }, 0);
  return {
    reasoningKept: (result, count) => messages.inc({ result }, count),
    watchReasoning(heldBytes) {
      new Gauge({
        name: 'gateway_kept_reasoning_bytes',
        help: 'Reasoning that this process has kept, in its memory or in Redis.',
        registers,
        collect() {
          this.set(heldBytes());
        },
      });
    },
  };
}
