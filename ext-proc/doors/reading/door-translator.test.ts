import { expect, test } from 'vitest';
import { DoorTranslator } from './door-translator.ts';

const BODY = Buffer.from(JSON.stringify({ model: 'm', input: 'x'.repeat(100_000) }));
const JOB = { api: 'responses', model: { reasoningEfforts: [] }, extraFields: [] } as const;

test('a body whose client left while it waited is not translated', async () => {
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
