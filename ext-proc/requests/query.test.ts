import { expect, test } from 'vitest';
import { isRefusal, type Refusal } from '#core/errors/refusal.ts';
import { readQuery } from './query.ts';

function refusalOf(query: string): Refusal {
  const result = readQuery(query, ['id', 'group_by']);
  if (!isRefusal(result)) throw new Error('the query was accepted');
  return result;
}

test('values are percent-decoded, and a plus is a space', () => {
  expect(readQuery('id=%67en+1&group_by=day%2Ckey', ['id', 'group_by'])).toEqual({
    kind: 'query',
    values: { id: 'gen 1', group_by: 'day,key' },
  });
});

test('an unknown name is refused before a repeated one that follows it', () => {
  expect(refusalOf('id=1&x=2&id=3')).toMatchObject({ code: 'unknown_parameter', param: 'x' });
  expect(refusalOf('id=1&id=3&x=2')).toMatchObject({ code: 'invalid_request', param: 'id' });
});

test('names are case-sensitive and compared exactly', () => {
  expect(refusalOf('ID=1')).toMatchObject({ code: 'unknown_parameter', param: 'ID' });
});

test('at most 128 characters of an unknown name are echoed', () => {
  const name = 'a'.repeat(128);
  expect(refusalOf(`${name}=1`)).toMatchObject({ param: name, values: { name } });
  expect(refusalOf(`${name}b=1`)).toEqual(refusalOf(`${name}=1`));
});
