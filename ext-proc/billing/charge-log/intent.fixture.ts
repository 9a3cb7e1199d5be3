import { flatTable, NO_PRICES } from '#core/pricing.ts';
import type { Intent } from './intent.ts';

export const TARGET = { provider: 'one', providerModel: 'big "model"', promptTokens: 10 };

export const PRICES = { ...NO_PRICES, inputPicoUsd: 1n, cachedInputPicoUsd: 2n, outputPicoUsd: 2n ** 60n };

export function intent(generationId: string, changes: Partial<Intent> = {}): Intent {
  return {
    ...{ generationId, organizationId: 'org-1', keyId: 'key-1', day: 20_000, model: 'm/"x"', streamed: true },
    priceTable: flatTable(PRICES),
    ...{ holdNanoUsd: 2n ** 62n, createdAtMs: 1_700_000_000_000, mostOutputTokens: 20 },
    ...changes,
  };
}
