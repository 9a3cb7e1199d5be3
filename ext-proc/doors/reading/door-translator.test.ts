import { expect, test } from 'vitest';
import { finish } from '../../fairness/steps.ts';
import { RESPONSES_DOOR } from '../responses/responses-door.ts';
import { DoorTranslator } from './door-translator.ts';
import { readRequest } from './read-request.ts';
import { transferOf, translateRequest } from './translate-request.ts';

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

test('a thread moves the translation of many messages: nothing in it is copied message by message', () => {
  const input = Array.from({ length: 1000 }, () => ({ role: 'user', content: '' }));
  const result = translateRequest({ ...JOB, bytes: Buffer.from(JSON.stringify({ model: 'm', input })) });
  if (result?.kind !== 'translated') throw new Error(JSON.stringify(result));
  const moved = structuredClone(result, { transfer: transferOf(result) });
  const { bytes, messages, tools: _, ...copied } = moved;
  expect([result.bytes, result.messages, result.tools].map(({ byteLength }) => byteLength)).toEqual([0, 0, 0]);
  expect(messages.byteLength).toBeGreaterThanOrEqual(1000);
  expect(bytes.byteLength).toBeGreaterThan(1000 * '{"role":"user"}'.length);
  expect(JSON.stringify(copied).length).toBeLessThan(1000);
});
