import { expect, test } from 'vitest';
import { configFolder } from './load.fixture.ts';
import { POSTGRES_OF_FILE } from './stores.ts';

const folder = configFolder();

// `pg` throws for the first of these, and takes the second and the last for port 4 of a host `me`.
test.each(['p/w', '4/w', 'p#w', '4#w', 'p?w', '4?w', '4?a=b'])(
  'the password %s is refused until it is escaped',
  async (password) => {
    const file = (text: string) =>
      `stores: {postgres: "postgres://me:${text}@h:5432/d", redis: "redis://me:${text}@h"}`;
    expect(await folder.messages(file(password))).toContainEqual(
      expect.stringMatching(/1:20: stores\.postgres: must be .* %2F %3F %23 %25$/),
    );
    expect(await folder.messages(file(encodeURIComponent(password)))).toEqual([]);
  },
);

// `pg` throws for escapes that are not UTF-8.
test.each(['%e4', 'a%FFb', '100%%e4'])('the password %s is refused, whose %% is not escaped', async (password) => {
  expect(await folder.messages('workers: 1', { DATABASE_URL: `postgres://me:${password}@h/d` })).toEqual([
    expect.stringMatching(/stores\.postgres: is overridden by DATABASE_URL, which must be .* %2F %3F %23 %25$/),
  ]);
  const DATABASE_URL = `postgres://me:${encodeURIComponent(password)}@h/d`;
  expect(await folder.messages('workers: 1', { DATABASE_URL })).toEqual([]);
});

test.each(['a/b', 'a@b', '100%', '%FF'])(
  'the password %s of Redis is refused until it is escaped',
  async (password) => {
    const file = (text: string) => `stores: {redis: "redis://:${text}@h:6379/0"}`;
    expect(await folder.messages(file(password))).toEqual([
      expect.stringMatching(/1:17: stores\.redis: must be .* %2F %40 %25$/),
    ]);
    expect(await folder.messages(file(encodeURIComponent(password)))).toEqual([]);
  },
);

test.each([
  'postgres://me:a@b@h/d',
  'postgres://me:100%@h/d',
  'postgres://me:%C3%A4%@h/d?application_name=%e4',
  'postgres://me@/d?host=%2Frun',
  'postgresql:///d?user=a@b',
  'postgres://[::1]:5432/d',
  'postgres://h',
])('%s is accepted', async (url) => {
  expect(await folder.messages('workers: 1', { DATABASE_URL: url })).toEqual([]);
});

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
