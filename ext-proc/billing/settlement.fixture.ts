import type { Settlement } from '#database/ledger/ledger.ts';

/** With numbers that a careless encoding would change. */
export const settlement: Settlement = {
  generationId: 'gen-01ARZ3NDEKTSV4RRFFQ69G5FAV',
  organizationId: 'org-1',
  keyId: 'key-1',
  day: 20_000,
  model: 'm',
  provider: 'p',
  providerModel: 'p-m',
  createdAtMs: 1,
  streamed: true,
  cancelled: false,
  usage: {
    promptTokens: 3,
    completionTokens: 4,
    cachedTokens: 1,
    cacheWriteTokens: 0,
    cacheWrite1hTokens: 0,
    reasoningTokens: 0,
  },
  usageCounted: false,
  prices: {
    inputPicoUsd: 250_000n,
    cachedInputPicoUsd: 25_000n,
    cacheWritePicoUsd: 0n,
    cacheWrite1hPicoUsd: 0n,
    outputPicoUsd: 2_000_000n,
  },
  costNanoUsd: 9_007_199_254_740_993n,
  holdNanoUsd: 9_007_199_254_740_995n,
  firstEventMs: 12.5,
  generationTimeMs: 100,
};
