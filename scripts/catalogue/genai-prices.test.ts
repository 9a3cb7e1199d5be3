import { expect, it } from 'vitest';
import { readPythonData, type WitnessModel, witnessOf } from './genai-prices.ts';

it('parses Python data without running it', () => {
  const source = `
import datetime
from decimal import Decimal
from .types import *

other = open('/etc/passwd').read()
providers: list[Provider] = [
    Provider(
        id='p',
        price_comments="it's",
        models=[
            ModelInfo(
                id='m',
                match=ClauseOr(or_=[ClauseEquals(equals='m'), ClauseRegex(regex='^m-\\\\d')]),
                deprecated=True,
                prices=[
                    ConditionalPrice(prices=ModelPrice(input_mtok=Decimal('0.1'), output_mtok=None)),
                    ConditionalPrice(
                        constraint=StartDateConstraint(start_date=datetime.date(2026, 12, 1)),
                        prices=ModelPrice(input_mtok=TieredPrices(base=Decimal('1'), tiers=[Tier(start=9, price=Decimal('2'))])),
                    ),
                    ConditionalPrice(
                        constraint=TimeOfDateConstraint(
                            start_time=datetime.time(1, 0, tzinfo=datetime.UTC), end_time=datetime.time(16, 30, tzinfo=datetime.UTC)
                        ),
                        prices=ModelPrice(),
                    ),
                ],
                price_variants=[PriceVariant(when={'service_tier': 'batch'}, prices=ModelPrice())],
            )
        ],
    )
]
`;
  expect(readPythonData(source, 'providers')).toMatchObject([
    {
      ...{ class: 'Provider', id: 'p', price_comments: "it's" },
      models: [
        {
          deprecated: true,
          match: { class: 'ClauseOr', or_: [{ equals: 'm' }, { class: 'ClauseRegex', regex: '^m-\\d' }] },
          prices: [
            { prices: { input_mtok: 0.1, output_mtok: null } },
            {
              constraint: { start_date: '2026-12-01' },
              prices: { input_mtok: { base: 1, tiers: [{ start: 9, price: 2 }] } },
            },
            { constraint: { start_time: '01:00', end_time: '16:30' } },
          ],
          price_variants: [{ when: { service_tier: 'batch' } }],
        },
      ],
    },
  ]);
});

it.each([
  'open("/etc/passwd").read()',
  '__import__("os").system("true")',
  '[x for x in [1]]',
  'Tier(*[1])',
  'Tier(**{})',
  'datetime.time(1, 0)',
  'name',
])('refuses %s', (expression) => {
  expect(() => readPythonData(`providers = [${expression}]`, 'providers')).toThrow(/Command failed/);
});

it('finds the model of the witness by its clauses', () => {
  const model = (id: string, match: WitnessModel['match']): WitnessModel => ({ id, match, prices: {} });
  const models = new Map([
    [
      'moonshotai',
      [
        model('equal', { class: 'ClauseEquals', equals: 'Kimi' }),
        model('dated', { class: 'ClauseStartsWith', starts_with: 'kimi-2026-11-23' }),
        model('digit', { class: 'ClauseRegex', regex: '^kimi-\\d$' }),
        model('both', {
          class: 'ClauseAnd',
          and_: [
            { class: 'ClauseContains', contains: 'k3' },
            { class: 'ClauseEndsWith', ends_with: 'pro' },
          ],
        }),
        model('either', { class: 'ClauseOr', or_: [{ class: 'ClauseEquals', equals: 'org/own' }] }),
      ],
    ],
  ]);
  const found = (name: string) => witnessOf(`moonshot/${name}`, models)?.id;
  expect(['kimi', 'KIMI', 'kimi-20261123', 'kimi-7', 'kimi-k3-pro', 'kimi-k3', 'org/own', 'own'].map(found)).toEqual([
    ...['equal', 'equal', 'dated', 'digit', 'both'],
    ...[undefined, 'either', undefined],
  ]);
  expect(witnessOf('openai/kimi', models)).toBeUndefined();
});
