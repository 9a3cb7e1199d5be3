import { z } from 'zod';
import { dayField } from './fields.ts';

/** Days are inclusive UTC days. A request counts on the day on which it arrived. */
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
  /** Sum of what the models' own prices would have charged. */
  readonly listNanoUsd: string;
  /** Absent: unknown for some request, whose target has no `cost_usd_per_million_tokens`. */
  readonly costNanoUsd?: string;
  /** Revenue less cost. Absent if the cost is absent. */
  readonly marginNanoUsd?: string;
  /** Present if the cost is absent and known for some requests: revenue and cost of these alone. */
  readonly known?: { readonly revenueNanoUsd: string; readonly costNanoUsd: string };
  readonly lossesNanoUsd: string;
}

export interface CostsApi {
  'GET /api/costs': {
    query: CostsInput;
    /** Newest day first, then by revenue. `rows` may be cut, `total` and the CSV are complete. */
    response: { rows: readonly CostRowView[]; total: CostRowView; cut: boolean };
  };
}
