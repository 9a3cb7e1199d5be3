import { describe, expect, it } from 'vitest';
import { chosenSorting, tableSorting } from './sorting.ts';

const COLUMNS = { usual: 'cost', names: ['model', 'key'] } as const;

describe('sorting', () => {
  it('uses the default column, largest first', () => {
    expect(chosenSorting<string>({}, COLUMNS)).toEqual({ by: 'cost', order: 'desc' });
    expect(chosenSorting<string>({ sort: 'key' }, COLUMNS)).toEqual({ by: 'key', order: 'asc' });
    expect(chosenSorting<string>({ sort: 'key', order: 'desc' }, COLUMNS)).toEqual({ by: 'key', order: 'desc' });
  });

  it('reverses with a second click, and is as by default with a third', () => {
    const click = (sort: string, order: 'asc' | 'desc', column: string) => {
      let after = {};
      const change = (next: object) => {
        after = next;
      };
      tableSorting<string>({ search: { sort, order }, change }, COLUMNS).onSort(column);
      return after;
    };
    expect(click('cost', 'desc', 'requests')).toEqual({ sort: 'requests', order: 'desc' });
    expect(click('requests', 'desc', 'requests')).toEqual({ sort: 'requests', order: 'asc' });
    expect(click('requests', 'asc', 'requests')).toEqual({ sort: undefined, order: undefined });
    expect(click('cost', 'desc', 'key')).toEqual({ sort: 'key', order: 'asc' });
  });
});
