import type { TestModel } from '../../harness/test-config.ts';

/**
 * The model with the first table of its prices alone, so that a charge is the same on every day and
 * at every hour at which a test runs.
 */
export function timelessModel({ usd_per_million_tokens: prices, ...model }: TestModel): TestModel {
  if (prices === undefined) return model;
  const { from: _from, hours: _hours, ...table } = prices;
  return { ...model, usd_per_million_tokens: table };
}
