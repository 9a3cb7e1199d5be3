import { z } from 'zod';
import { dayField } from './fields.ts';

/** Days are inclusive, in UTC: those of the arrival of requests. */
export type CostsInput = Readonly<z.infer<typeof costsInput>>;
export const costsInput = z.strictObject({
  from: dayField,
  to: dayField,
  by: z.string().regex(/^(?:day|(?:day,)?(?:model|provider|organization))$/, {
    error: `day, or one of model, provider and organization, or both, such as day,model.`,
  }),
});

export type CostGroupName = 'day' | 'model' | 'provider' | 'organization';

/** Revenue and cost of charged requests, and the losses of the operator. */
export interface CostRowView {
  /** `2026-11-21`, UTC. */
  readonly day?: string;
  readonly model?: string;
  readonly provider?: string;
  readonly organizationId?: string;
  readonly organizationName?: string;
  readonly requests: number;
  readonly revenueNanoUsd: string;
  /** Sum of list prices: of what the models' own prices would have charged. */
  readonly listNanoUsd: string;
  /** Absent: a target has no `cost_usd_per_million_tokens`. */
  readonly costNanoUsd?: string;
  /** Revenue less cost. Absent where the cost is. */
  readonly marginNanoUsd?: string;
  /** Where the cost is absent: revenue and cost of the requests whose cost is known, if any. */
  readonly known?: { readonly revenueNanoUsd: string; readonly costNanoUsd: string };
  readonly lossesNanoUsd: string;
}

export interface CostsApi {
  'GET /api/costs': {
    query: CostsInput;
    /**
     * Newest day first, then by revenue. `total` includes rows that `rows` leaves out; the CSV has
     * them all.
     */
    response: { rows: readonly CostRowView[]; total: CostRowView; cut: boolean };
  };
}
