import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import type { Model } from '#core/config/gateway-config.ts';
import { isRefusal } from '#core/errors/refusal.ts';
import { flatTable, NO_PRICES, NO_USAGE, priced } from '#core/pricing.ts';
import { acceptedChat, readBody, sentBody, verdictOf } from '#test/fixtures/chat-request.ts';
import { configWith, modelWith } from '#test/fixtures/gateway-config.ts';
import { principalWith } from '#test/fixtures/principal.ts';
import { holdNanoUsdOf } from '../requests/affordable-output.ts';
import { type ChatWithModel, chooseModel } from './choose-model.ts';

const PDF = `data:application/pdf;base64,${Buffer.from('%PDF-1.7 a page').toString('base64')}`;
const WINDOW = 50_000;

const bodyWith = (content: unknown) => ({ model: 'model-1', messages: [{ role: 'user', content }] });
const TEXT = bodyWith('Sum it up');
const withFile = (file: unknown, more: object = {}) =>
  bodyWith([
    { type: 'text', text: 'Sum it up' },
    { type: 'file', file, ...more },
  ]);

const verdict = (body: object) => verdictOf(readBody(body)).replace('messages[0].content[1]', '');

async function choose(
  body: object,
  capabilities: readonly ('files' | 'vision')[] = ['files'],
  changes: Partial<Model> = {},
) {
  const model = modelWith({ capabilities: new Set(capabilities), contextWindow: WINDOW, ...changes });
  const inTurns = () => {
    throw new Error('nothing is counted');
  };
  return chooseModel(acceptedChat(body), principalWith(), configWith(model), async () => undefined, inTurns);
}

async function chosen(body: object, changes?: Partial<Model>): Promise<ChatWithModel> {
  const choice = await choose(body, ['files'], changes);
  if (choice === undefined || isRefusal(choice)) throw new Error(JSON.stringify(choice));
  return choice;
}

describe('parts of type file', () => {
  it.each<[string, unknown]>([
    ['ok', { file_data: PDF }],
    ['ok', { file_data: PDF, filename: 'a.pdf', file_id: null }],
    ['ok', { file_data: PDF.toUpperCase().replace(/BASE64,.*/, 'BASE64,QUJD') }],
    ['ok', { file_data: PDF.replace('pdf;', 'pdf;name=a.pdf;') }],
    ['invalid_request .file', 'x'],
    ['invalid_request .file', null],
    ['invalid_request .file.file_data', {}],
    ['invalid_request .file.file_data', { file_data: 1 }],
    ['invalid_request .file.file_data', { file_data: 'https://example.test/a.pdf' }],
    ['invalid_request .file.file_data', { file_data: 'JVBERi0xLjc=' }],
    ['invalid_request .file.file_data', { file_data: 'data:application/pdf;base64,' }],
    ['invalid_request .file.file_data', { file_data: 'data:application/pdf;base64,Q' }],
    ['invalid_request .file.file_data', { file_data: 'data:application/pdf,x' }],
    ['invalid_request .file.file_data', { file_data: 'data:text/plain;base64,QUJD' }],
    ['invalid_request .file.file_id', { file_id: 'file-abc' }],
    ['invalid_request .file.file_id', { file_data: PDF, file_id: 'file-abc' }],
    ['invalid_request .file.file_url', { file_data: PDF, file_url: 'https://example.test/a.pdf' }],
    ['invalid_request .file.filename', { file_data: PDF, filename: 1 }],
    ['invalid_request .file.File_Data', { file_data: PDF, File_Data: PDF }],
  ])('%s: %j', (expected, file) => expect(verdict(withFile(file))).toBe(expected));

  it('must not contain media of another type', () => {
    expect(verdict(withFile({ file_data: PDF }, { image_url: { url: 'http://10.0.0.1/' } }))).toBe(
      'invalid_request .image_url',
    );
  });

  it('need a model with the capability', async () => {
    expect(await choose(withFile({ file_data: PDF }), ['vision'])).toMatchObject({
      code: 'invalid_request',
      param: 'messages[0].content[1].file',
    });
    expect(await choose(withFile({ file_data: PDF }))).toHaveProperty('choice.model.id', 'model-1');
  });

  it('reach the provider unchanged', () => {
    const file = { filename: 'a.pdf', file_data: PDF };
    const sent = sentBody(acceptedChat(withFile(file)));
    expect(JSON.parse(sent).messages).toEqual(withFile(file).messages);
  });
});

describe('tokens of files', () => {
  const ofBytes = (bytes: number) => `data:application/pdf;base64,${Buffer.alloc(bytes, 'x').toString('base64')}`;
  const estimate = (bytes: number) => acceptedChat(withFile({ file_data: ofBytes(bytes) })).inputTokens.estimate;
  const besides = acceptedChat(TEXT).inputTokens.estimate;

  it('are estimated by bytes, between one page and a bound', () => {
    expect(estimate(10) - besides).toBe(2000);
    expect(estimate(500_000) - besides).toBeGreaterThanOrEqual(10_000);
    expect(estimate(500_000) - besides).toBeLessThan(10_010);
    expect(estimate(6_000_000) - besides).toBe(100_000);
  });

  it('have the longest prompt of the provider as their ceiling, even above the context window', async () => {
    const { chat } = await chosen(withFile({ file_data: PDF }), { longestPrompt: 20 * WINDOW });
    expect(chat.inputTokens).toMatchObject({
      ...{ ceiling: 20 * WINDOW, normalizedCeiling: 20 * WINDOW, fileCeiling: 20 * WINDOW },
    });
    const { inputTokens } = (await chosen(TEXT, { longestPrompt: 20 * WINDOW })).chat;
    expect(inputTokens.ceiling).toBeLessThan(200);
  });

  it('are held at no less than the cost of any prompt that the provider reads, at any length', async () => {
    const prices = (input: number) => ({ ...NO_PRICES, inputPicoUsd: BigInt(input), outputPicoUsd: BigInt(2 * input) });
    const step = fc.record({ inputTokens: fc.integer({ min: 1, max: 25 * WINDOW }), input: fc.nat(1000) });
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { maxLength: 3 }),
        fc.integer({ min: WINDOW, max: 20 * WINDOW }),
        fc.double({ min: 0, max: 1, noNaN: true }),
        fc.constantFrom(undefined, 'flex'),
        async (steps, longestPrompt, share, service_tier) => {
          const above = steps
            .map(({ inputTokens, input }) => ({ inputTokens, prices: prices(input) }))
            .toSorted((a, b) => a.inputTokens - b.inputTokens);
          const tier = { prices: prices(500), above };
          const priceTable = { ...flatTable(prices(100)), above, serviceTiers: new Map([['flex', tier]]) };
          const body = { ...withFile({ file_data: PDF }), max_tokens: 10, ...(service_tier ? { service_tier } : {}) };
          const input = await chosen(body, { longestPrompt, priceTable });
          const usage = { ...NO_USAGE, promptTokens: Math.ceil(share * longestPrompt), completionTokens: 10 };
          const terms = { priceTable, askedTier: service_tier };
          expect(holdNanoUsdOf(input)).toBeGreaterThanOrEqual(priced(terms, { usage }).costNanoUsd);
        },
      ),
      { numRuns: 200 },
    );
  });

  it('have the context window as their ceiling, for any number of files and length of text', async () => {
    await fc.assert(
      fc.asyncProperty(fc.integer({ min: 1, max: 4 }), fc.integer({ min: 0, max: 100_000 }), async (files, letters) => {
        const parts = Array.from({ length: files }, () => ({ type: 'file', file: { file_data: PDF } }));
        const text = { type: 'text', text: 'x'.repeat(letters) };
        // The text begins at the same byte of both, because measured blocks are at secret places.
        const alone = acceptedChat(bodyWith([text])).inputTokens;
        const { chat } = await chosen(bodyWith([text, ...parts]));
        const { ceiling, normalizedCeiling, fileCeiling } = chat.inputTokens;
        expect(fileCeiling).toBe(WINDOW);
        for (const most of [ceiling, normalizedCeiling]) {
          expect(most).toBeGreaterThanOrEqual(WINDOW);
          // The frames of parts.
          expect(most).toBeLessThanOrEqual(Math.max(WINDOW, alone.ceiling + 2 * files));
        }
      }),
      { numRuns: 30 },
    );
  });
});
