import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Model } from '#core/config/gateway-config.ts';
import { isRefusal, type Refusal } from '#core/errors/refusal.ts';
import { flatTable, NO_PRICES } from '#core/pricing.ts';
import { readChatRequest } from '#test/fixtures/chat-request.ts';
import { configWith, modelWith } from '#test/fixtures/gateway-config.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { checkModel } from '../chat/check-model.ts';
import { MemoryLimitStore } from '../limits/memory/memory-limit-store.ts';
import { type Admission, type AdmissionInput, admit } from './admit.ts';

const DAY = 20_000;
const NOW_MS = DAY * 86_400_000;
const CLOCK = { nowMs: () => NOW_MS, monotonicMs: () => 0 };
/** A nano-dollar for a token of the prompt, ten for one of the output. */
const PRICES = { ...NO_PRICES, inputPicoUsd: 1000n, outputPicoUsd: 10_000n };

interface Given {
  readonly balanceNanoUsd: bigint;
  readonly fields?: object;
  readonly model?: Partial<Model>;
  readonly more?: Partial<AdmissionInput>;
}

/** Rules of refused requests, as metrics count them. */
const refusedRules: string[] = [];

/** One admission of an organization that nobody else uses. */
async function admission({ balanceNanoUsd, fields = {}, model = {}, more = {} }: Given): Promise<Admission | Refusal> {
  const config = configWith(modelWith({ priceTable: flatTable(PRICES), contextWindow: 1_000_000, ...model }));
  const body = { model: 'model-1', messages: [{ role: 'user', content: 'Hello' }], ...fields };
  const chat = readChatRequest(Buffer.from(JSON.stringify(body)), undefined);
  if (isRefusal(chat)) throw new Error(chat.code);
  const base = principalWith();
  const organization = { ...base.account.organization, balanceNanoUsd };
  const principal = { ...base, account: { ...base.account, organization } };
  const choice = checkModel(chat, principal, config);
  if (isRefusal(choice)) throw new Error(choice.code);
  const readAgain = async () => principal;
  const chooseByCount = async () => undefined;
  const limits = new MemoryLimitStore({ leaseMs: 60_000 });
  const given = { generationId: 'gen-1', principal, config, chat, choice, readAgain, chooseByCount, ...more };
  const metrics = { admissionRefused: (rule: string) => void refusedRules.push(rule) };
  return admit({ limits, metrics, clock: CLOCK }, given);
}

async function refusedWith(given: Given): Promise<Readonly<Record<string, unknown>>> {
  const refusal = await admission(given);
  if (!isRefusal(refusal)) throw new Error('admitted');
  expect(refusal.code).toBe('insufficient_credits');
  return refusal.metadata ?? {};
}

const limitOf = (result: Admission | Refusal) => (isRefusal(result) ? result.code : result.choice.outputLimit);

describe('a refusal for the balance', () => {
  it('is counted once for a request, and not for one that a shorter default output admits', async () => {
    refusedRules.length = 0;
    expect(isRefusal(await admission({ balanceNanoUsd: 0n }))).toBe(true);
    expect(refusedRules).toEqual(['balance']);
    expect(limitOf(await admission({ balanceNanoUsd: 5_000n }))).toBeLessThan(500);
    expect(refusedRules).toEqual(['balance']);
  });

  it('names the largest output with which the request is admitted', async () => {
    const serviceTiers = new Map([['flex', flatTable({ ...PRICES, inputPicoUsd: 7000n })]]);
    const model = { priceTable: { ...flatTable(PRICES), serviceTiers } };
    await fc.assert(
      fc.asyncProperty(
        fc.bigInt({ min: 0n, max: 80_000n }),
        fc.integer({ min: 1, max: 3 }),
        fc.constantFrom(undefined, 'flex'),
        async (balanceNanoUsd, n, service_tier) => {
          const asked = (max_tokens: number) => ({ balanceNanoUsd, model, fields: { n, service_tier, max_tokens } });
          const result = await admission(asked(8000));
          if (!isRefusal(result)) throw new Error('the balance pays for it');
          const affordable = Number(result.metadata?.affordable_output_tokens);
          if (affordable > 0) expect(limitOf(await admission(asked(affordable)))).toBe(affordable);
          expect(limitOf(await admission(asked(affordable + 1)))).toBe('insufficient_credits');
        },
      ),
      { numRuns: 50 },
    );
  });

  it('names none if an API accepts no output as short as the balance pays for', async () => {
    const [target] = modelWith().targets;
    if (target === undefined) throw new Error('there is no target');
    const model = { targets: [{ ...target, api: 'responses' as const }] };
    const free = { ...flatTable({ ...PRICES, inputPicoUsd: 0n }) };
    const asked = { fields: { max_tokens: 500 }, model: { ...model, priceTable: free } };
    expect(await refusedWith({ ...asked, balanceNanoUsd: 159n })).toMatchObject({ affordable_output_tokens: 0 });
    expect(await refusedWith({ ...asked, balanceNanoUsd: 160n })).toMatchObject({ affordable_output_tokens: 16 });
  });
});

describe('a default output limit', () => {
  const free = { priceTable: flatTable({ ...PRICES, inputPicoUsd: 0n }) };

  it.each([
    [40_000n, 4000],
    [39_999n, 3999],
    [2560n, 256],
    [2559n, 'insufficient_credits'],
    [0n, 'insufficient_credits'],
  ])('is what a balance of %i pays for', async (balanceNanoUsd, expected) => {
    const result = await admission({ balanceNanoUsd, model: free });
    expect(limitOf(result)).toBe(expected);
    if (!isRefusal(result)) {
      expect(result.holdNanoUsd).toBe(10n * BigInt(result.choice.outputLimit));
      expect(result.choice.heldOutputTokens).toBe(result.choice.outputLimit);
    }
  });

  it('that is short is lowered no further', async () => {
    const model = { ...free, defaultOutputTokens: 100 };
    expect(limitOf(await admission({ balanceNanoUsd: 1000n, model }))).toBe(100);
    expect(await refusedWith({ balanceNanoUsd: 999n, model })).toMatchObject({
      affordable_output_tokens: 99,
      estimated_usd: 0.000001,
    });
  });

  it('that no balance pays for is reported with the shortest output that was tried', async () => {
    expect(await refusedWith({ balanceNanoUsd: 2559n, model: free })).toEqual({
      ...{ available_usd: 0.000002559, estimated_usd: 0.00000256, affordable_output_tokens: 255 },
    });
  });

  it.each([
    [1_000_000n, 'daily_budget_exceeded'],
    [20_010n, 'daily_budget_exceeded'],
    [20_009n, 2000],
    [2560n, 256],
    [2559n, 'insufficient_credits'],
  ])('is lowered to a balance of %i, and not to a daily budget', async (balanceNanoUsd, expected) => {
    const base = principalWith({}, { limits: { dailyBudgetNanoUsd: 20_000n } });
    const organization = { ...base.account.organization, balanceNanoUsd };
    const principal = { ...base, account: { ...base.account, organization } };
    const more = { principal, readAgain: async () => principal };
    const result = await admission({ balanceNanoUsd, model: free, more });
    expect(limitOf(result)).toBe(expected);
  });

  it.each([
    ['monthly_budget', { monthlyBudgetNanoUsd: 32_000n }],
    ['lifetime_budget', { lifetimeBudgetNanoUsd: 32_000n }],
  ])('is lowered to what is left of a %s', async (limit, limits) => {
    const spent = { monthSpentNanoUsd: 12_000n, lifetimeSpentNanoUsd: 12_000n };
    const base = principalWith({ limits });
    const principal = { ...base, account: { ...base.account, key: { ...base.account.key, ...spent } } };
    const given = { balanceNanoUsd: 0n, model: free, more: { principal, readAgain: async () => principal } };
    expect(limitOf(await admission(given))).toBe(2000);
    const refusal = await refusedWith({ ...given, fields: { max_tokens: 2001 } });
    expect(refusal).toMatchObject({ available_usd: 0.00002, affordable_output_tokens: 2000, limit });
  });

  it('that the client gave is never lowered', async () => {
    const fields = { max_tokens: 4000 };
    expect(await refusedWith({ balanceNanoUsd: 39_999n, model: free, fields })).toMatchObject({
      affordable_output_tokens: 3999,
      estimated_usd: 0.00004,
    });
  });

  it('is lowered after the input is counted, once', async () => {
    let counts = 0;
    const model: Partial<Model> = {
      tokenizer: 'o200k_base',
      priceTable: flatTable({ ...PRICES, inputPicoUsd: 10_000n }),
    };
    const given = { balanceNanoUsd: 5000n, model };
    const uncounted = await admission(given);
    const counted = await admission({
      ...given,
      more: {
        chooseByCount: async () => {
          counts += 1;
          const config = configWith(modelWith({ ...model, contextWindow: 1_000_000 }));
          const text = JSON.stringify({ model: 'model-1', messages: [{ role: 'user', content: 'Hello' }] });
          const chat = readChatRequest(Buffer.from(text), undefined);
          if (isRefusal(chat)) return chat;
          const choice = checkModel(chat, principalWith(), config);
          const inputTokens = { ...chat.inputTokens, ceiling: 10, normalizedCeiling: 10, isCounted: true as const };
          return isRefusal(choice) ? choice : { chat: { ...chat, inputTokens }, choice };
        },
      },
    });
    expect(counts).toBe(1);
    expect(limitOf(counted)).toBe(490);
    expect(Number(limitOf(uncounted))).toBeLessThan(490);
  });
});
