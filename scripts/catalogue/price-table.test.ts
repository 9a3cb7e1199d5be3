import { expect, it } from 'vitest';
import { saidPrices } from './price-table.ts';
import { unsaidPrices } from './unsaid-prices.ts';

const CHAT = { mode: 'chat', input_cost_per_token: 2e-6, output_cost_per_token: 1e-5 };

it('has prices by prompt length and service tier, without those that equal their default', () => {
  const entry = {
    ...CHAT,
    cache_read_input_token_cost: 2e-7,
    cache_creation_input_token_cost: 2.5e-6,
    cache_creation_input_token_cost_above_1hr: 4e-6,
    input_cost_per_token_above_272k_tokens: 4e-6,
    cache_creation_input_token_cost_above_1hr_above_272k_tokens: 8e-6,
    output_cost_per_token_above_272k_tokens: 1.5e-5,
    input_cost_per_token_flex: 1e-6,
    output_cost_per_token_flex: 5e-6,
    output_cost_per_token_above_272k_tokens_flex: 7.5e-6,
    input_cost_per_token_batches: 1e-9,
  };
  const writes = { cached_input: 0.2, cache_write: 2.5 };
  expect(saidPrices('m', entry)).toEqual({
    table: {
      ...{ input: 2, ...writes, cache_write_1h: 4, output: 10 },
      above: [{ input_tokens: 272_000, input: 4, ...writes, cache_write_1h: 8, output: 15 }],
      service_tiers: {
        flex: {
          ...{ input: 1, ...writes, cache_write_1h: 4, output: 5 },
          above: [{ input_tokens: 272_000, input: 1, ...writes, cache_write_1h: 8, output: 7.5 }],
        },
      },
    },
    unsaid: [],
  });
});

it.each(['1', '12'])('has the price of cache writes for %s hours', (hours) => {
  const entry = { ...CHAT, [`cache_creation_input_token_cost_above_${hours}hr`]: 5e-6 };
  expect(saidPrices('m', entry)?.table).toEqual({ input: 2, cache_write_1h: 5, output: 10 });
});

it('has prices given as a list of ranges', () => {
  const tiered_pricing = [
    { range: [0, 32_000], input_cost_per_token: 5e-8, output_cost_per_token: 4e-7 },
    { range: [32_000, 128_000], input_cost_per_token: 2.5e-7, output_cost_per_token: 2e-6 },
  ];
  const above = [{ input_tokens: 32_000, input: 0.25, output: 2 }];
  expect(saidPrices('m', { tiered_pricing })?.table).toEqual({ input: 0.05, output: 0.4, above });
});

it('has lower prices of hours, except those in other time zones', () => {
  const offPeak = (windows: readonly object[], others = {}) => ({
    ...CHAT,
    cache_read_input_token_cost: 2e-7,
    off_peak_pricing: { input_cost_per_token: 1e-6, output_cost_per_token: 5e-6, windows, ...others },
  });
  const peak = { input: 2, cached_input: 0.2, output: 10 };
  const low = { input: 1, cached_input: 0.2, output: 5 };
  const week = { hours_utc: ['00:00-01:00', '16:30-00:30', '10:00-00:00'], weekdays: [1, 2, 5] };
  const entry = offPeak([week, { hours_utc: '00:00-00:00', weekdays: [7, 6] }, { hours_utc: '03:00-04:00' }]);
  const days = ['mon', 'tue', 'fri'];
  expect(saidPrices('m', entry)).toEqual({
    table: {
      ...peak,
      hours: [
        { utc: '00:00-01:00', days, ...low },
        // The map reads the day of the week at each instant.
        { utc: '16:30-24:00', days, ...low },
        { utc: '00:00-00:30', days, ...low },
        { utc: '10:00-24:00', days, ...low },
        { utc: '00:00-24:00', days: ['sat', 'sun'], ...low },
        { utc: '03:00-04:00', ...low },
      ],
    },
    unsaid: [],
  });
  const nine = Array.from({ length: 9 }, (_, hour) => ({ hours_utc: `0${hour}:00-0${hour}:30` }));
  for (const unreadable of [
    offPeak([week], { weekday_timezone: 'Europe/Paris' }),
    ...[offPeak([]), offPeak(nine), offPeak([{ hours_utc: 'night' }]), offPeak([{ ...week, weekdays: [0] }])],
  ]) {
    expect(saidPrices('m', unreadable)).toEqual({ table: peak, unsaid: ['hour of the day'] });
  }
});

it('converts hours on days of the week in Shanghai, where a day begins at 16:00 UTC', () => {
  const windows = [
    { hours_utc: ['04:00-06:00', '10:00-00:00'], weekdays: [1, 2, 3, 4, 5] },
    { hours_utc: '00:00-00:00', weekdays: [6, 7] },
  ];
  const off_peak_pricing = { input_cost_per_token: 1e-6, windows, weekday_timezone: 'Asia/Shanghai' };
  const hours = saidPrices('m', { ...CHAT, off_peak_pricing })?.table.hours ?? [];
  const [week, sundayToThursday] = [
    ['mon', 'tue', 'wed', 'thu', 'fri'],
    ['mon', 'tue', 'wed', 'thu', 'sun'],
  ];
  expect(hours.map(({ utc, days }) => [utc, days])).toEqual([
    ['04:00-06:00', week],
    ['10:00-16:00', week],
    ['16:00-24:00', sundayToThursday],
    ['00:00-16:00', ['sat', 'sun']],
    ['16:00-24:00', ['fri', 'sat']],
  ]);
});

it('removes the noise of binary fractions', () => {
  const noisy = { input_cost_per_token: 4.0000000000000003e-7, output_cost_per_token: 1.1999999999999999e-6 };
  expect(saidPrices('m', noisy)).toEqual({ table: { input: 0.4, output: 1.2 }, unsaid: [] });
  expect(saidPrices('m', { ...CHAT, input_cost_per_token: 1e-12 })?.table.input).toBe(0.000001);
});

it.each([
  ['more than 6 decimals', { input_cost_per_token: 1.5e-12 }],
  ['no price of output', { output_cost_per_token: undefined }],
  ['more than 8 lengths of prompts', lengths(9)],
  ['reasoning tokens, beside output', { output_cost_per_reasoning_token: 3e-5 }],
  ['hour of the day', { off_peak_pricing: { input_cost_per_token: 1e-6 } }],
  ['images in, each', { input_cost_per_image: 0.001 }],
  ['images in, their tokens', { input_cost_per_image_token: 1e-6 }],
  ['images out', { output_cost_per_image: 0.03 }],
  ['audio out', { supported_output_modalities: ['audio'], output_cost_per_image: 0.03 }],
  ['video in or out', { output_cost_per_video_token: 1e-5 }],
  ['each request', { input_cost_per_request: 0.005 }],
  ['searches', { litellm_provider: 'perplexity', search_context_cost_per_query: {} }],
  ['citations', { citation_cost_per_token: 2e-6 }],
  ['time of a machine', { cost_per_second: 0.001 }],
  ['characters', { input_cost_per_character: 1e-7 }],
  ['two prices of cached tokens', { explicit_cache_read_input_token_cost: 1e-7 }],
])('names what it does not say: %s', (kind, members) => {
  expect(saidPrices('m', { ...CHAT, ...members })?.unsaid).toContain(kind);
});

function lengths(count: number): object {
  const steps = Array.from({ length: count }, (_, index) => [`input_cost_per_token_above_${index + 1}k_tokens`, 3e-6]);
  return Object.fromEntries(steps);
}

it('names the live chat models whose price no table expresses', () => {
  const map = new Map<string, Record<string, unknown>>([
    ['three', CHAT],
    ['tiers', { ...CHAT, input_cost_per_token_flex: 1e-6 }],
    ['responses', { ...CHAT, mode: 'responses', output_cost_per_image: 0.03 }],
    ['embedding', { ...CHAT, mode: 'embedding' }],
    ['past', { ...CHAT, deprecation_date: '2026-11-23' }],
    ['future', { ...CHAT, deprecation_date: '2026-11-24' }],
    ['unpriced', { mode: 'chat' }],
    ['hours', { ...CHAT, off_peak_pricing: {} }],
  ]);
  expect(unsaidPrices(map, '2026-11-23')).toEqual(
    new Map([
      ['images out', ['responses']],
      ['hour of the day', ['hours']],
    ]),
  );
});
