import type { ModelView } from '#contract/money.ts';
import { tableIn } from '#core/price-table-text.ts';
import { largestOutputTokens, worstCaseNanoUsd } from '#core/pricing.ts';

/** Input of the request whose output limit is shown. */
export const SMALL_INPUT_TOKENS = 1_000;

export interface AffordableOutput {
  readonly model: string;
  /** Largest output limit with which the request would be admitted. 0: none. */
  readonly outputTokens: number;
  readonly mostOutputTokens: number;
  /** Amount needed for the model's largest output limit. */
  readonly neededNanoUsd: string;
}

/**
 * Output limits of a small request, computed like the admission's, shortest first. Only includes
 * models whose longest output the amount does not cover.
 */
export function shortenedOutputs(
  models: readonly ModelView[],
  availableNanoUsd: bigint,
  maxTokens: number | undefined,
): readonly AffordableOutput[] {
  return models
    .filter(({ state }) => state === 'available')
    .map(({ id, maxOutputTokens, priceTable }) => {
      const terms = { priceTable: tableIn(priceTable) };
      const needed = (outputTokens: number) => worstCaseNanoUsd(terms, SMALL_INPUT_TOKENS, outputTokens);
      const most = Math.min(maxOutputTokens, maxTokens ?? maxOutputTokens);
      return {
        model: id,
        outputTokens: largestOutputTokens(most, (limit) => needed(limit) <= availableNanoUsd),
        mostOutputTokens: most,
        neededNanoUsd: needed(most).toString(),
      };
    })
    .filter(({ outputTokens, mostOutputTokens }) => outputTokens < mostOutputTokens)
    .toSorted((a, b) => a.outputTokens - b.outputTokens || a.model.localeCompare(b.model, 'en'));
}
