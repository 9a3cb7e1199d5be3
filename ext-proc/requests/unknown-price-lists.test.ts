import { expect, it, vi } from 'vitest';
import type { Log } from '#core/log/log.ts';
import { configWith } from '#test/fixtures/gateway-config.ts';
import { createMetrics } from '../telemetry/metrics.ts';
import { noteUnknownLists } from './unknown-price-lists.ts';

const ORGANIZATION = { id: 'org-1', suspended: false, allowMultipleCompletions: false, concurrency: 1, limits: {} };

it('counts each request, and logs each organization once for a configuration', async () => {
  const error = vi.fn();
  const metrics = createMetrics();
  const note = noteUnknownLists({ log: { error } as unknown as Log, metrics });
  const config = { ...configWith(), priceLists: new Map([['partner', { models: new Map() }]]) };
  note(ORGANIZATION, config);
  note({ ...ORGANIZATION, priceList: 'partner' }, config);
  expect(error).not.toHaveBeenCalled();
  for (let times = 0; times < 3; times++) note({ ...ORGANIZATION, priceList: 'gone' }, config);
  note({ ...ORGANIZATION, id: 'org-2', priceList: 'gone' }, config);
  expect(error.mock.calls.map(([fields]) => fields)).toEqual([
    { organization_id: 'org-1', price_list: 'gone' },
    { organization_id: 'org-2', price_list: 'gone' },
  ]);
  note({ ...ORGANIZATION, priceList: 'gone' }, { ...config });
  expect(error).toHaveBeenCalledTimes(3);
  expect(await metrics.registry.metrics()).toContain('gateway_unknown_price_lists_total 5');
});
