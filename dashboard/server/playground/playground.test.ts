import { expect, it } from 'vitest';
import { Playground } from './playground.ts';

const OF_USER = 4;
const OF_ORGANIZATION = 16;
const OF_ALL = 64;

it('bounds the plays of a user, an organization and all, and frees a slot for each that ends', async () => {
  const playground = new Playground();
  const ends: (() => void)[] = [];
  const begin = async (user: number, organization: number) => {
    const end = await playground.plays.take({ userId: `usr-${user}`, organizationId: `org-${organization}` });
    if (typeof end === 'function') ends.push(end);
    return typeof end === 'function' ? 'begun' : end.isOwnFault;
  };
  const begun = async (user: number, organization: number, times: number) => {
    for (let play = 0; play < times; play++) expect(await begin(user, organization)).toBe('begun');
  };
  await begun(0, 0, OF_USER);
  expect(await begin(0, 0)).toBe(true);
  for (let user = 1; user < OF_ORGANIZATION / OF_USER; user++) await begun(user, 0, OF_USER);
  expect(await begin(99, 0)).toBe(true);
  for (let user = OF_ORGANIZATION / OF_USER; user < OF_ALL / OF_USER; user++) await begun(user, user, OF_USER);
  expect(await begin(99, 99)).toBe(false);
  for (let again = 0; again < 2; again++) ends[0]?.();
  expect([await begin(99, 99), await begin(99, 99)]).toEqual(['begun', false]);
});
