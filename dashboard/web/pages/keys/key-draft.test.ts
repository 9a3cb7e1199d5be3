import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type KeyChange, type KeyRestrictions, keyChange, keyRestrictions } from '#contract/keys.ts';
import { KEY_SETTINGS } from '#contract/shown-settings.ts';
import { changeOf, draftOf, valuesOf } from '../../forms/draft.ts';
import { expiryOf, type KeyDraft, replacementExpiry } from './key-draft.ts';

const models = fc.uniqueArray(fc.constantFrom('gpt-5', 'gpt-5-mini', 'demo-chat', 'other/model'));
const ipRanges = fc.uniqueArray(fc.constantFrom('10.0.0.0/8', '192.0.2.1', 'fd00::/8'));
const perhaps = <T>(value: fc.Arbitrary<T>) => fc.option(value, { nil: undefined });
const budget = fc.bigInt({ min: 0n, max: 10n ** 18n }).map(String);
const draft: fc.Arbitrary<KeyDraft> = fc.record({
  name: fc.constantFrom('Backend', 'Backend 2', '  Staging '),
  note: fc.constantFrom('', ' ', 'Owned by billing ', '=1+1 <b>'),
  scopes: fc.constantFrom<KeyRestrictions['scopes'][]>(['chat'], ['usage:read'], ['chat', 'usage:read']),
  models,
  ipRanges,
  expiresAtMs: perhaps(fc.integer({ min: 1, max: 2e12 })),
  requestsPerMinute: perhaps(fc.integer({ min: 1, max: 1e9 })),
  tokensPerMinute: perhaps(fc.integer({ min: 1, max: 1e12 })),
  dailyBudgetNanoUsd: perhaps(budget),
  monthlyBudgetNanoUsd: perhaps(budget),
  lifetimeBudgetNanoUsd: perhaps(budget),
});

/**
 * Applies a change like the server (contract/keys.ts): absent fields are kept, null clears a field.
 */
function changed(key: KeyRestrictions, change: KeyChange): KeyRestrictions {
  return Object.fromEntries(
    Object.entries({ ...key, ...change }).filter(([, value]) => value !== null),
  ) as unknown as KeyRestrictions;
}

describe('the form of a key', () => {
  it('makes bodies that the server accepts, and reads them back from its responses', () => {
    fc.assert(
      fc.property(draft, (form) => {
        const body = valuesOf(KEY_SETTINGS, form);
        expect(keyRestrictions.parse(body)).toEqual(body);
        expect(valuesOf(KEY_SETTINGS, draftOf(KEY_SETTINGS, body))).toEqual(body);
      }),
    );
  });

  it('sends changes that lead from one state to the other', () => {
    fc.assert(
      fc.property(draft, draft, (from, to) => {
        const before = valuesOf(KEY_SETTINGS, from);
        const change = changeOf(KEY_SETTINGS, before, to);
        expect(keyChange.parse(change)).toEqual(change);
        const after = valuesOf(KEY_SETTINGS, to);
        const sets = ({ models: m, ipRanges: r, scopes, ...rest }: KeyRestrictions) => [
          rest,
          new Set(scopes),
          new Set(m),
          new Set(r),
        ];
        expect(sets(changed(before, change))).toEqual(sets(after));
      }),
    );
  });

  it('sends nothing if nothing changed', () => {
    fc.assert(
      fc.property(draft, (form) => {
        const shuffled = {
          ...form,
          models: form.models?.toReversed(),
          ipRanges: form.ipRanges?.toReversed(),
          name: `${form.name} `,
          note: ` ${form.note ?? ''}`,
        };
        expect(changeOf(KEY_SETTINGS, valuesOf(KEY_SETTINGS, form), shuffled)).toEqual({});
      }),
    );
  });

  it('sends only changes, and null for a removed restriction', () => {
    const key: KeyRestrictions = {
      name: 'a',
      scopes: ['chat'],
      models: ['gpt-5'],
      note: 'old',
      requestsPerMinute: 60,
      dailyBudgetNanoUsd: '5',
      monthlyBudgetNanoUsd: '6',
    };
    const form = {
      ...draftOf(KEY_SETTINGS, key),
      note: ' ',
      models: [],
      requestsPerMinute: undefined,
      tokensPerMinute: 1000,
      dailyBudgetNanoUsd: '0',
      monthlyBudgetNanoUsd: undefined,
      lifetimeBudgetNanoUsd: '7',
    };
    const change = changeOf(KEY_SETTINGS, key, form);
    expect(change).toEqual({
      ...{ note: null, models: null, requestsPerMinute: null, tokensPerMinute: 1000 },
      ...{ dailyBudgetNanoUsd: '0', monthlyBudgetNanoUsd: null, lifetimeBudgetNanoUsd: '7' },
    });
  });
});

const NOW = new Date(2026, 10, 21, 14, 30, 25, 400).getTime();

describe('expiryOf', () => {
  it.each([
    ['30d', new Date(2026, 11, 21, 14, 30)],
    ['90d', new Date(2027, 1, 19, 14, 30)],
    ['1y', new Date(2027, 10, 21, 14, 30)],
    ['custom', new Date(2026, 10, 28, 14, 30)],
  ] as const)('puts %s at the same time of day', (choice, expected) => {
    expect(expiryOf(choice, NOW)).toBe(expected.getTime());
  });

  it('can be never', () => {
    expect(expiryOf('never', NOW)).toBeUndefined();
  });
});

describe('replacementExpiry', () => {
  it('is absent, a moment or never', () => {
    expect(replacementExpiry('same', NOW)).toEqual({});
    expect(replacementExpiry('30d', NOW)).toEqual({ expiresAtMs: new Date(2026, 11, 21, 14, 30).getTime() });
    expect(replacementExpiry('never', NOW)).toEqual({ expiresAtMs: null });
  });
});
