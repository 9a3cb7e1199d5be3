import { expect, test } from 'vitest';
import { configFolder } from './load.fixture.ts';
import { POSTGRES_OF_FILE } from './stores.ts';

const folder = configFolder();

test.each([
  ['stores: {postgres: embedded}', 'embedded', false],
  ['stores: {postgres: "postgres://h/d"}', 'embedded', true],
  ['stores: {postgres: "postgres://h/d"}', 'postgres://h/d', false],
  ['stores: {postgres: "postgres://h/other"}', 'postgres://h/d', true],
  ['workers: 1', 'embedded', false],
  // The operator's own DATABASE_URL always overrides the file.
  ['stores: {postgres: "postgres://h/d"}', undefined, false],
])('%s, where the supervisor started with %s: changed %s', async (text, atStart, changed) => {
  const env = { DATABASE_URL: 'postgres://socket/d', [POSTGRES_OF_FILE]: atStart };
  expect(await folder.loaded(text, env)).toMatchObject({
    storesChanged: changed,
    config: { stores: { postgres: { kind: 'url' } } },
  });
});
