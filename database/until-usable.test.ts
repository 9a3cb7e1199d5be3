import pg from 'pg';
import { expect, test } from 'vitest';
import { StoreUnavailable } from '#core/store-unavailable.ts';
import { SchemaMismatch } from './schema/migrate.ts';
import { untilUsable } from './until-usable.ts';

function forbidden(): pg.DatabaseError {
  const error = new pg.DatabaseError('permission denied for function f', 0, 'error');
  error.code = '42501';
  return error;
}

async function attempt(failures: readonly unknown[]): Promise<{ readonly said: unknown[]; readonly opened: unknown }> {
  const said: unknown[] = [];
  const left = [...failures];
  const log = { info: () => {}, error: () => {}, warn: (fields: object) => void said.push(fields) };
  const open = async () => {
    if (left.length > 0) throw left.shift();
    return 'open';
  };
  return { opened: await untilUsable(open, log, 1), said };
}

test('waits for a store, for the schema and for rights, and says each time for which', async () => {
  const away = new StoreUnavailable('PostgreSQL is not reachable', { cause: new Error('connect ECONNREFUSED') });
  const failures = [away, new SchemaMismatch('no schema'), forbidden(), new Error('failed', { cause: forbidden() })];
  expect(await attempt(failures)).toEqual({
    opened: 'open',
    said: [
      { reason: 'PostgreSQL is not reachable: connect ECONNREFUSED' },
      { reason: 'no schema' },
      { reason: expect.stringMatching(/^permission denied for function f: .* gives the rights$/) },
      { reason: expect.stringMatching(/^permission denied for function f: /) },
    ],
  });
});

test('throws errors that waiting cannot fix', async () => {
  await expect(attempt([new TypeError('a bug')])).rejects.toThrow('a bug');
});
