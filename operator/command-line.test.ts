import { expect, it } from 'vitest';
import { POSTGRES_URL_ACCEPTED } from '#core/config/postgres-url.ts';
import { runCommandLine } from './command-line.ts';

it.each([
  [['frob'], 'There is no command "frob", but there are these:\ncheck-config [FILE]'],
  [['org', 'frob', '--json'], 'There is no command "org frob", but there are these:\norg create --name NAME'],
  [['--version'], 'There is no command "--version", but there are these:\ncheck-config [FILE]'],
  [['key'], 'There is no command "key", but there are these:\nkey create --org ID'],
])('%j is refused in its first line, and what was meant is near', async (args, begin) => {
  const result = await runCommandLine(args, {});
  expect(result.kind).toBe('usage');
  expect(result.kind === 'usage' && result.message.startsWith(begin), JSON.stringify(result)).toBe(true);
});

it('says that none forbids more than one completion again', async () => {
  expect(await runCommandLine(['help', 'org', 'update'], {})).toMatchObject({
    text: expect.stringMatching(/"none" .*--allow-n/),
  });
});

it.each([
  ...['nonsense', 'localhost:5432/gateway', 'mysql://localhost/gateway'],
  ...['postgres://u:pa/ss@h/db', 'postgres://u:pa?ss@h/db', 'postgres://u:pa#ss@h/db', 'postgres://u:12/ss@h/db'],
])('DATABASE_URL is not %s', async (url) => {
  expect(await runCommandLine(['org', 'list'], { DATABASE_URL: url })).toEqual({
    kind: 'refused',
    message: `DATABASE_URL must be ${POSTGRES_URL_ACCEPTED}.`,
  });
});
