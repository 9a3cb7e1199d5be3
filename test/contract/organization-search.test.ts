import { describe, expect, it } from 'vitest';
import { newId } from '#core/ids.ts';
import { BY } from '../harness/database.ts';
import { opened } from '../harness/opened.ts';
import { openAudited } from './audited-database.ts';

describe('finding organizations', () => {
  const database = opened(openAudited);

  it('returns pages from the newest, by part of the name or by id', async () => {
    const { administration } = database;
    const ids: string[] = [];
    for (let index = 0; index < 7; index++) {
      const id = newId('org', 1_700_000_000_000 + index);
      const settings = { allowMultipleCompletions: false, concurrency: 1 };
      const name = index % 2 === 0 ? `Ünter_100% ${index}` : `Odd ${index}`;
      await administration.createOrganization({ id, name, ...settings }, BY);
      ids.unshift(id);
    }
    const pages: string[][] = [];
    for (let last: string | undefined; ; ) {
      const page = await administration.searchOrganizations({ limit: 3, ...(last ? { beforeId: last } : {}) });
      pages.push(page.map(({ id }) => id));
      last = page.at(-1)?.id;
      if (page.length < 3) break;
    }
    expect(pages).toEqual([ids.slice(0, 3), ids.slice(3, 6), ids.slice(6)]);
    const found = async (search: string, more = {}) =>
      (await administration.searchOrganizations({ search, limit: 10, ...more })).map(({ id }) => ids.indexOf(id));
    expect(await found('oDD')).toEqual([1, 3, 5]);
    expect(await found('odd', { beforeId: ids[1] })).toEqual([3, 5]);
    // Neither `_` nor `%` is a wildcard.
    expect(await found('_100%')).toEqual([0, 2, 4, 6]);
    expect(await found('O%d')).toEqual([]);
    expect(await found(ids[2] ?? '')).toEqual([2]);
    expect(
      (await administration.organizationsById([ids[5] ?? '', `org-${'0'.repeat(26)}`, ids[1] ?? ''])).map(
        ({ id }) => id,
      ),
    ).toEqual([ids[1], ids[5]]);
    expect(await administration.organizationsById([])).toEqual([]);
  });
});
