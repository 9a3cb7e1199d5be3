import { expect, test } from 'vitest';
import { lookupsInTurn, MAX_LOOKUPS } from './name-lookups.ts';

/** Lookups at customers' name servers, which may be slow. */
test('unresponsive name servers occupy few threads, and a lookup that waits too long is not made', async () => {
  const answers: (() => void)[] = [];
  const asked: string[] = [];
  const resolve = lookupsInTurn((host) => {
    asked.push(host);
    return new Promise((_, reject) => answers.push(() => reject(new Error('none'))));
  });
  const [live, late] = [new AbortController(), new AbortController()];
  const ends = (host: string, { signal } = live) => resolve(host, signal).catch(({ message, name }) => [name, message]);
  const sent = [ends('a'), ends('b'), ends('c', late), ends('d'), ends('e')];
  expect(asked).toEqual(['a', 'b']);
  late.abort();
  const [a, b] = answers;
  a?.();
  expect(await sent[0]).toEqual(['Error', 'none']);
  expect((await sent[2])?.[0]).toBe('AbortError');
  await expect.poll(() => asked).toEqual(['a', 'b', 'd']);
  expect(asked.length - 1).toBe(MAX_LOOKUPS);
  b?.();
  await expect.poll(() => asked).toEqual(['a', 'b', 'd', 'e']);
  for (const answer of answers) answer();
  await Promise.all(sent);
  expect(asked).toEqual(['a', 'b', 'd', 'e']);
});
