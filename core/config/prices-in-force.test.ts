import { describe, expect, it } from 'vitest';
import type { GatewayConfig } from './gateway-config.ts';
import { configFolder, oneModel } from './load.fixture.ts';
import { configAt } from './prices-in-force.ts';

const folder = configFolder();
const PROVIDER = '  p: {base_url: http://127.0.0.1:9/}';

async function configOf(prices: string, cost = ''): Promise<GatewayConfig> {
  const text = oneModel(`[{provider: p, model: x${cost}}]`, PROVIDER).replace(
    /usd_per_million_tokens: \{[^}]*\}/,
    `usd_per_million_tokens: ${prices}`,
  );
  return (await folder.loaded(text)).config;
}

function pricesAt(config: GatewayConfig, instant: string) {
  const model = configAt(config, Date.parse(instant)).models.get('m');
  const usd = (picoUsd: bigint | undefined) => Number(picoUsd) / 1e6;
  return [usd(model?.priceTable.prices.outputPicoUsd), usd(model?.targets[0]?.costTable?.prices.outputPicoUsd)];
}

describe('prices and costs', () => {
  it('are those of the instant, each by its own dates and hours', async () => {
    const config = await configOf(
      `{input: 2, output: 10,
        from: {2026-12-01: {input: 4, output: 20, hours: [{utc: "01:00-04:00", input: 1, output: 5}]},
               2027-01-01T12:00:00+02:00: {input: 6, output: 30}},
        hours: [{utc: "16:30-00:30", days: [mon, tue, wed, thu, fri], except: [2026-11-26], input: 1, output: 4}]}`,
      ', cost_usd_per_million_tokens: {input: 1, output: 3, from: {2026-12-01: {input: 1, output: 7}}}',
    );
    expect(pricesAt(config, '2026-11-24T12:00:00Z')).toEqual([10, 3]);
    expect(pricesAt(config, '2026-11-24T16:30:00Z')).toEqual([4, 3]);
    expect(pricesAt(config, '2026-11-26T20:00:00Z')).toEqual([10, 3]);
    // The window of the former table ends with it.
    expect(pricesAt(config, '2026-11-30T23:59:59.999Z')).toEqual([4, 3]);
    expect(pricesAt(config, '2026-12-01T00:00:00Z')).toEqual([20, 7]);
    expect(pricesAt(config, '2026-12-01T01:00:00Z')).toEqual([5, 7]);
    expect(pricesAt(config, '2027-01-01T09:59:59.999Z')).toEqual([20, 7]);
    expect(pricesAt(config, '2027-01-01T10:00:00Z')).toEqual([30, 7]);
    // A request that arrived earlier is decided later.
    expect(pricesAt(config, '2026-11-24T12:00:00Z')).toEqual([10, 3]);
  });

  it('keep their objects until a table changes, and the configuration its own where none does', async () => {
    const timeless = await configOf('{input: 2, output: 10}');
    expect(configAt(timeless, 0)).toBe(timeless);
    const config = await configOf('{input: 2, output: 10, hours: [{utc: "01:00-04:00", input: 1, output: 5}]}');
    const at = (instant: string) => configAt(config, Date.parse(instant));
    expect(at('2026-11-24T03:59:59.999Z')).toBe(at('2026-11-24T01:00:00Z'));
    expect(at('2026-11-24T04:00:00Z')).not.toBe(at('2026-11-24T03:59:59.999Z'));
    expect(at('2026-11-24T04:00:00Z').models.get('m')?.targets[0]).toBe(config.models.get('m')?.targets[0]);
  });

  it('keep their objects around the edge of a table, and after a clock went back over some', async () => {
    const config = await configOf('{input: 2, output: 10, hours: [{utc: "01:00-04:00", input: 1, output: 5}]}');
    const at = (instant: string) => configAt(config, Date.parse(instant));
    const [before, after] = [at('2026-11-24T03:59:59Z'), at('2026-11-24T04:00:00Z')];
    expect(at('2026-11-24T03:59:59Z')).toBe(before);
    expect(at('2026-11-24T04:00:00Z')).toBe(after);
    const earlier = at('2026-11-22T12:00:00Z');
    expect(at('2026-11-22T12:00:01Z')).toBe(earlier);
  });

  it('of a tier that a window does not name are those outside of it', async () => {
    const tiers = 'service_tiers: {flex: {input: 1, output: 2}, fast: {input: 3, output: 4}}';
    const window = 'hours: [{utc: "01:00-04:00", input: 1, output: 5, service_tiers: {fast: {input: 2, output: 3}}}]';
    const config = await configOf(`{input: 2, output: 10, ${tiers}, ${window}}`);
    const { serviceTiers } = configAt(config, Date.parse('2026-11-24T02:00:00Z')).models.get('m')?.priceTable ?? {};
    expect(serviceTiers?.get('flex')?.prices.outputPicoUsd).toBe(2_000_000n);
    expect(serviceTiers?.get('fast')?.prices.outputPicoUsd).toBe(3_000_000n);
  });

  it('may depend on date, hour, tier and length at once', async () => {
    const tier = 'service_tiers: {flex: {input: 1, output: 1, above: [{input_tokens: 9, input: 1, output: 7}]}}';
    const costs = `{input: 1, output: 1, from: {2026-12-01: {input: 1, output: 1,
      hours: [{utc: "01:00-04:00", input: 1, output: 1, ${tier}}]}}}`;
    const config = await configOf('{input: 2, output: 10}', `, cost_usd_per_million_tokens: ${costs}`);
    const [target] = configAt(config, Date.parse('2026-12-01T02:00:00Z')).models.get('m')?.targets ?? [];
    expect(target?.costTable?.serviceTiers.get('flex')?.above[0]?.prices.outputPicoUsd).toBe(7_000_000n);
  });
});

describe('price lists', () => {
  const TIMED = '{input: 2, output: 10, hours: [{utc: "01:00-04:00", input: 1, output: 4}]}';

  async function configWithLists(lists: string, prices = '{input: 2, output: 10}') {
    const text = oneModel('[{provider: p, model: x, cost_usd_per_million_tokens: {input: 1, output: 3}}]', PROVIDER);
    const replaced = text.replace(/usd_per_million_tokens: \{input: 0.25[^}]*\}/, `usd_per_million_tokens: ${prices}`);
    return (await folder.loaded(`${replaced}price_lists:\n${lists}`)).config;
  }
  const modelAt = (config: GatewayConfig, list: string | undefined, instant: string) =>
    configAt(config, Date.parse(instant), list).models.get('m');
  const outputOf = (model: ReturnType<typeof modelAt>) => Number(model?.priceTable.prices.outputPicoUsd) / 1e6;

  it('are of the organizations that have them; others, and an unknown list, pay the own prices', async () => {
    const config = await configWithLists('  partner: {"*": {percent: -10}}\n  table: {m: {input: 1, output: 7}}\n');
    expect(outputOf(modelAt(config, 'partner', '2026-11-24T12:00:00Z'))).toBe(9);
    expect(outputOf(modelAt(config, 'table', '2026-11-24T12:00:00Z'))).toBe(7);
    expect(outputOf(modelAt(config, undefined, '2026-11-24T12:00:00Z'))).toBe(10);
    expect(configAt(config, 0, 'gone')).toBe(config);
    // Lists change no costs, and remember the price without them.
    const partner = modelAt(config, 'partner', '2026-11-24T12:00:00Z');
    expect(partner?.targets).toEqual(config.models.get('m')?.targets);
    expect(partner?.own?.priceTable).toBe(config.models.get('m')?.priceTable);
  });

  it('have dates and hours of their own; a percentage has those of the model', async () => {
    const lists =
      '  partner: {m: {percent: -50}}\n' +
      '  table: {m: {input: 1, output: 7, from: {2026-12-01: {input: 1, output: 6}}, hours: [{utc: "03:00-05:00", input: 1, output: 5}]}}\n';
    const config = await configWithLists(lists, TIMED);
    const outputs = (list: string | undefined) =>
      ['2026-11-24T02:00:00Z', '2026-11-24T03:30:00Z', '2026-11-24T04:30:00Z', '2026-12-02T02:00:00Z'].map((instant) =>
        outputOf(modelAt(config, list, instant)),
      );
    expect(outputs(undefined)).toEqual([4, 4, 10, 4]);
    expect(outputs('partner')).toEqual([2, 2, 5, 2]);
    expect(outputs('table')).toEqual([7, 5, 5, 6]);
    expect(Number(modelAt(config, 'table', '2026-11-24T02:00:00Z')?.own?.priceTable.prices.outputPicoUsd)).toBe(4e6);
  });

  it('keep their objects until a table changes, each its own', async () => {
    const config = await configWithLists('  a: {"*": {percent: -10}}\n  b: {"*": {percent: -10}}\n', TIMED);
    const at = (list: string, instant: string) => configAt(config, Date.parse(instant), list);
    expect(at('a', '2026-11-24T02:00:00Z')).toBe(at('a', '2026-11-24T03:59:59.999Z'));
    expect(at('a', '2026-11-24T02:00:00Z')).not.toBe(at('b', '2026-11-24T02:00:00Z'));
    expect(at('a', '2026-11-24T02:00:00Z')).not.toBe(at('a', '2026-11-24T04:00:00Z'));
    const tables = ['a', 'b'].map((list) => at(list, '2026-11-24T04:00:00Z').models.get('m')?.priceTable);
    expect(at('a', '2026-11-24T05:00:00Z').models.get('m')?.priceTable).toBe(tables[0]);
  });

  it('decide about cache writes as a table of the model would', async () => {
    const writes = '{input: 2, output: 10, cache_write: 3}';
    const config = await configWithLists('  partner: {m: {percent: 1}}\n  table: {m: {input: 1, output: 7}}\n', writes);
    const pricedWrites = (list: string | undefined) =>
      modelAt(config, list, '2026-11-24T02:00:00Z')?.priceTable.cacheWrites;
    expect([undefined, 'partner', 'table'].map(pricedWrites)).toEqual(['short', 'short', undefined]);
  });

  it('decide about cache writes as the table in force does', async () => {
    const hours = 'hours: [{utc: "03:00-04:00", input: 1, output: 5}]';
    const later = 'from: {2026-12-01: {input: 4, output: 20, cache_write: 5, cache_write_1h: 8}}';
    const config = await configWithLists(
      '  none_of_it: {}\n',
      `{input: 2, output: 10, cache_write: 3, ${hours}, ${later}}`,
    );
    const pricedWrites = (instant: string) => modelAt(config, undefined, instant)?.priceTable.cacheWrites;
    const instants = ['2026-11-24T02:00:00Z', '2026-11-24T03:00:00Z', '2026-12-01T03:00:00Z'];
    expect(instants.map(pricedWrites)).toEqual(['short', undefined, 'long']);
  });
});
