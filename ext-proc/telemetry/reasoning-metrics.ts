import type { KeptReasoningResult } from '../limits/reasoning/reasoning-store.ts';
import type { MetricSet } from './metric-set.ts';

const RESULTS = ['kept', 'full', 'found', 'missing', 'evicted', 'unavailable'] as const;

/** Reasoning that is kept for clients that do not send it back. */
export function createReasoningMetrics(metrics: MetricSet) {
  const messages = metrics.counter(
    'gateway_kept_reasoning_messages_total',
    'Assistant messages with tool calls whose reasoning was kept for the next turn, by result: kept, full (too large, or no memory), found, missing (never kept, expired, evicted, or other calls), evicted, unavailable (the store did not reply in time).',
    { result: RESULTS },
  );
  return {
    reasoningKept: (result: KeptReasoningResult | 'evicted', count: number) => messages.inc({ result }, count),
    watchReasoning: (heldBytes: () => number) =>
      metrics.read(
        'gateway_kept_reasoning_bytes',
        'Reasoning that this process has kept, in its memory or in Redis.',
        heldBytes,
      ),
  };
}
