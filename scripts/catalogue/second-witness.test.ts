import { expect, it } from 'vitest';
import { shippedCatalogue } from '#core/model-catalogue/catalogue.ts';
import type { CatalogueModel, CatalogueSchedule } from '#core/model-catalogue/catalogue-model.ts';
import { CHOICES } from './choices.ts';
import type { WitnessModel } from './genai-prices.ts';
import { withWitness } from './second-witness.ts';

const DAY = '2026-11-24';
const mtok = (input: unknown, output: unknown = 10, cached?: unknown) => ({
  ...{ input_mtok: input, output_mtok: output },
  ...(cached === undefined ? {} : { cache_read_mtok: cached }),
});
const from = (start_date: string, prices: object) => ({ constraint: { start_date }, prices: { ...prices } });

function seen(table: CatalogueSchedule, prices: WitnessModel['prices'], id = 'google/m') {
  const model = { id, usd_per_million_tokens: table } as CatalogueModel;
  const [provider = '', name = ''] = id.split('/');
  const witness = { id: name, match: { class: 'ClauseEquals', equals: name }, prices } as const;
  const { models, notes } = withWitness([model], new Map([[provider, [witness]]]), DAY);
  const { usd_per_million_tokens, disputed } = models[0] ?? model;
  return { table: usd_per_million_tokens, disputed, notes };
}
const OURS = { input: 2, cached_input: 0.1, output: 10 };

it('writes complete tables of changes after the day, and none of earlier changes', () => {
  const prices = [
    { constraint: null, prices: mtok(1, 5) },
    from('2026-11-24', mtok(2, 10, 0.1)),
    from('2026-12-01', mtok(4, 20, 0.2)),
    from('2027-01-01', { ...mtok(4, 20, 0.2), web_searches_kcount: 14 }),
    from('2027-02-01', mtok(5, 20, 0.2)),
  ];
  expect(seen(OURS, prices)).toEqual({
    table: {
      ...OURS,
      from: {
        '2026-12-01': { input: 4, cached_input: 0.2, output: 20 },
        '2027-02-01': { input: 5, cached_input: 0.2, output: 20 },
      },
    },
    disputed: undefined,
    notes: [],
  });
});

it('changes prices that the witness lacks by the factor of input and output', () => {
  const others = {
    above: [{ input_tokens: 200_000, input: 4, output: 15 }],
    service_tiers: { flex: { input: 1, output: 5 } },
    hours: [{ utc: '00:00-01:00', days: ['sat'], input: 1, output: 5 }],
  };
  const tiered = (base: number, price: number) => ({ base, tiers: [{ start: 200_000, price }] });
  const prices = [{ prices: mtok(tiered(2, 4), tiered(10, 15)) }, from('2026-12-01', mtok(4, 20))];
  const ours = { ...OURS, cache_write_1h: 4, ...others };
  expect(seen(ours, prices)).toMatchObject({
    notes: [],
    table: {
      from: {
        '2026-12-01': {
          ...{ input: 4, cached_input: 0.2, cache_write_1h: 8, output: 20 },
          above: [{ input_tokens: 200_000, input: 8, output: 30 }],
          service_tiers: { flex: { input: 2, output: 10 } },
          hours: [{ utc: '00:00-01:00', days: ['sat'], input: 2, output: 10 }],
        },
      },
    },
  });
  const uneven = [prices[0], from('2026-12-01', mtok(tiered(4, 9), tiered(30, 40)))] as WitnessModel['prices'];
  const { table, notes } = seen(ours, uneven);
  expect(table.from).toEqual({
    '2026-12-01': { input: 4, output: 30, above: [{ input_tokens: 200_000, input: 9, output: 40 }] },
  });
  const parts = ['cached_input', 'cache_write_1h', 'service_tiers.flex', 'hours.00:00-01:00'];
  for (const part of parts) {
    expect(notes).toContain(`google/m: nobody says from.2026-12-01.${part}, so it is left out.`);
  }
});

it('leaves out prices with too many decimals', () => {
  const prices = [{ prices: mtok(3, 9) }, from('2026-12-01', mtok(1, 3))];
  const { table, notes } = seen({ input: 3, output: 9, service_tiers: { flex: { input: 1, output: 3 } } }, prices);
  expect(table.from).toEqual({ '2026-12-01': { input: 1, output: 3 } });
  expect(notes).toHaveLength(1);
});

it('compares the most expensive hour of the day', () => {
  const hours = (start_time: string, end_time: string, prices: object) => ({
    constraint: { start_time, end_time },
    prices: { ...prices },
  });
  expect(seen(OURS, [{ prices: mtok(1, 5) }, hours('23:00', '01:00', mtok(2))]).disputed).toBeUndefined();
  expect(seen(OURS, [{ prices: mtok(1, 5) }, hours('01:00', '04:00', mtok(3))]).disputed).toEqual({ input: 3 });
});

it('reports prices and lengths that the sources dispute, except rounding', () => {
  expect(seen(OURS, mtok(3, 10.0005, 0.2))).toEqual({
    table: OURS,
    disputed: { input: 3, cached_input: 0.2 },
    notes: ['google/m: nobody has looked at {"input":[2,3],"cached_input":[0.1,0.2]}.'],
  });
  const above = (input_tokens: number) => ({ ...OURS, above: [{ input_tokens, input: 4, output: 10 }] });
  expect(seen(above(200_000), mtok(2)).disputed).toEqual({ above: [] });
  const witness = mtok({ base: 2, tiers: [{ start: 199_999, price: 4 }] });
  expect(seen(above(200_000), witness).disputed).toBeUndefined();
  expect(seen(above(272_000), witness).disputed).toEqual({ above: [199_999] });
  expect(seen({ input: 2, output: 10 }, mtok(2, 10, 0.5)).disputed).toBeUndefined();
});

it('uses the prices of the trusted source while the other source is unchanged', () => {
  const id = 'mistral/open-mistral-nemo';
  const map = { input: 0.3, cached_input: 0.03, output: 0.3 };
  expect(seen(map, mtok(0.15, 0.15), id)).toEqual({
    table: { input: 0.15, cached_input: 0.015, output: 0.15 },
    disputed: { input: 0.3, output: 0.3 },
    notes: [],
  });
  expect(seen(map, mtok(0.1, 0.15), id)).toMatchObject({
    ...{ table: map, disputed: { input: 0.1, output: 0.15 } },
    notes: [expect.stringContaining('nobody has looked at')],
  });
});

it('ships no unresolved dispute, and no choice without a dispute', async () => {
  const { models } = await shippedCatalogue();
  const disputes = models.flatMap(({ id, disputed, usd_per_million_tokens: table }) => {
    if (disputed === undefined) return [];
    const trusted = CHOICES.find(({ ids }) => ids.includes(id))?.trusted;
    const differing = Object.entries(disputed).map(([kind, other]) => {
      const { above = [] } = table;
      const ours = kind === 'above' ? above.map(({ input_tokens }) => input_tokens) : table[kind as 'input'];
      return [kind, trusted === 'genai-prices' ? [other, ours] : [ours, other]] as const;
    });
    return [{ id, differing: Object.fromEntries(differing) }];
  });
  const looked = CHOICES.flatMap(({ ids, differing }) => ids.map((id) => ({ id, differing })));
  expect(disputes).toEqual(looked.sort((a, b) => (a.id < b.id ? -1 : 1)));
});

it('ships the announced price changes', async () => {
  const { models } = await shippedCatalogue();
  const changes = models.flatMap(({ id, usd_per_million_tokens: { from = {} } }) =>
    Object.entries(from).map(([day, { input, output }]) => [id, day, input, output]),
  );
  expect(changes).toContainEqual(['google/gemini-4-argon', '2026-12-01', 4, 20]);
  for (const name of ['3.6', '3.7', '3.8'])
    expect(changes).toContainEqual([`google/gemini-${name}-flash`, '2027-01-01', 1.5, 7.5]);
});
