import type { RequestView } from '#contract/request-log.ts';

type Row = Pick<RequestView, 'id' | 'organizationId' | 'organizationName'>;

/**
 * One entry for each organization with requests of the id, which clients choose or repeat. Only one
 * request has a row to open: there may be several, such as the replays of a generation.
 */
export function requestsFound(rows: readonly Row[]) {
  const groups = Map.groupBy(rows, ({ organizationId = '' }) => organizationId);
  return [...groups].map(([organization, [first, ...others]]) =>
    others.length > 0
      ? { organization, detail: `Requests of ${first?.organizationName}` }
      : { organization, detail: `Request of ${first?.organizationName}`, open: first?.id ?? '' },
  );
}
