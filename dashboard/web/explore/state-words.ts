import { isMetadataGrouping } from '#contract/explore.ts';
import { type ExploreState, LISTS, type ListName, MEASURES, RANGES } from '#contract/explore-search.ts';
import { formatDuration, formatMoney } from '../format/format.ts';
import { spanText } from './calendar-days.ts';
import { MEASURE_VIEWS } from './explore-figures.ts';

const { organization, metadata, status, ...lists } = LISTS;
const GROUPS = { ...lists, status: { label: 'Status class' }, organization, metadata };

/** Groupings by value of the address. */
export const GROUP_WORDS: Readonly<Record<string, string>> = {
  none: 'Not grouped',
  ...Object.fromEntries(Object.entries(GROUPS).map(([value, { label }]) => [value, `By ${label.toLowerCase()}`])),
};

/** The filters that are set. `nameOf` replaces ids by names. */
export function filterWords(
  search: ExploreState,
  nameOf: (value: string) => string = (value) => value,
): readonly (readonly [name: keyof ExploreState, words: string])[] {
  const { cost, duration, outcome, streamed } = search;
  const valuesOf = (values: readonly string[]) => values.map((value) => (value === '' ? 'None' : nameOf(value)));
  const words: readonly (readonly [name: keyof ExploreState, words: string | undefined])[] = [
    ...(Object.keys(LISTS) as ListName[]).map(
      (name) => [name, search[name] && `${LISTS[name].label}: ${valuesOf(search[name]).join(', ')}`] as const,
    ),
    ['outcome', outcome && (outcome === 'failed' ? 'Failed' : 'Succeeded')],
    ['streamed', streamed && (streamed === 'yes' ? 'Streamed' : 'Not streamed')],
    ['cost', cost === undefined ? undefined : `Cost from ${formatMoney(cost.toString())}`],
    ['duration', duration === undefined ? undefined : `Duration from ${formatDuration(duration)}`],
  ];
  return words.flatMap(([name, text]) => (text === undefined ? [] : [[name, text] as const]));
}

/** All that a saved view shows in another way than usual. Empty: nothing. */
export function stateWords(state: ExploreState, nameOf?: (value: string) => string): string {
  const { range, fromMs, toMs, by, show, compare, sort, order, search } = state;
  const isCustom = fromMs !== undefined || toMs !== undefined;
  const column = MEASURES.find((one) => one === sort);
  return [
    isCustom ? spanText(fromMs, toMs, false) : range && RANGES[range],
    by && (isMetadataGrouping(by) ? by.replace('metadata.', 'By metadata ') : GROUP_WORDS[by]),
    show && MEASURE_VIEWS[show].label,
    compare && 'Compared',
    ...filterWords(state, nameOf).map(([, words]) => words),
    search && `Request ${search}`,
    sort && `Sorted by ${column ? MEASURE_VIEWS[column].label : sort}`,
    order && (order === 'asc' ? 'Ascending' : 'Descending'),
  ]
    .filter(Boolean)
    .join('; ');
}
