import type { TestModel } from '../../harness/test-config.ts';

/**
 * The model with only the first table of its prices, so that charges do not depend on the day and
 * hour at which a test runs.
 */
export function timelessModel({ usd_per_million_tokens: prices, ...model }: TestModel): TestModel {
  if (prices === undefined) return model;
  const { from: _from, hours: _hours, ...table } = prices;
  return { ...model, usd_per_million_tokens: table };
}
