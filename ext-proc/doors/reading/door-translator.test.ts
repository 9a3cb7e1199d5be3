import { expect, test } from 'vitest';
import { finish } from '../../fairness/steps.ts';
import { RESPONSES_DOOR } from '../responses/responses-door.ts';
import { DoorTranslator } from './door-translator.ts';
import { readRequest } from './read-request.ts';
import { translateRequest } from './translate-request.ts';

const BODY = Buffer.from(JSON.stringify({ model: 'm', input: 'x'.repeat(100_000) }));
const JOB = { api: 'responses', model: { reasoningEfforts: [] }, extraFields: [] } as const;

test('a body is not translated if its client left while it waited', async () => {
  const translator = new DoorTranslator();
  const ended: string[] = [];
  const translate = async (organizationId: string, isGone: boolean) => {
    const result = await translator.translate(BODY, JOB, { organizationId, isGone: () => isGone });
    ended.push(organizationId);
    return result?.kind;
  };
  const results = await Promise.all([translate('first', false), translate('gone', true), translate('last', false)]);
  expect(results).toEqual(['translated', undefined, 'translated']);
  expect(ended).toEqual(['first', 'gone', 'last']);
  translator.close();
});

test('a body that takes the thread too long is refused, and counts against its client', async () => {
  const translator = new DoorTranslator();
  const sent = {
    ...{ body: BODY, contentEncoding: undefined, organizationId: 'org', memory: { take: () => true } },
    ...{ header: () => undefined, isGone: () => false, reasoningEfforts: () => [] },
  };
  const read = readRequest(RESPONSES_DOOR, sent, translator, finish);
  await Promise.resolve();
  // As it ends a job that takes too long.
  translator.close();
  expect(await read).toMatchObject({ kind: 'refusal', code: 'invalid_request', param: 'input' });
});

test('a thread transfers the translation of 80,000 messages at once', () => {
  const input = Array.from({ length: 80_000 }, () => ({ role: 'user', content: '' }));
  const result = translateRequest({ ...JOB, bytes: Buffer.from(JSON.stringify({ model: 'm', input })) });
  if (result?.kind !== 'translated') throw new Error(JSON.stringify(result));
  const { bytes, messages, tools } = result;
  const transfer = [bytes, messages, tools].map(({ buffer }) => buffer as ArrayBuffer);
  const startedMs = performance.now();
  structuredClone(result, { transfer });
  // 80,000 objects take 100 ms.
  expect(performance.now() - startedMs).toBeLessThan(20);
});
