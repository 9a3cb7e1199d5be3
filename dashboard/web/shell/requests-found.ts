import type { RequestView } from '#contract/request-log.ts';

type Row = Pick<RequestView, 'id' | 'organizationId' | 'organizationName'>;

export interface RequestsFound {
  readonly organization: string;
  readonly detail: string;
  /** Its row. Absent: there are several, such as the replays of a generation. */
  readonly open?: string;
}

/** One entry for each organization with requests of the id, which clients choose or repeat. */
export function requestsFound(rows: readonly Row[]): readonly RequestsFound[] {
  const groups = Map.groupBy(rows, ({ organizationId = '' }) => organizationId);
  return [...groups].map(([organization, [first, ...others]]) =>
    others.length > 0
      ? { organization, detail: `Requests of ${first?.organizationName}` }
      : { organization, detail: `Request of ${first?.organizationName}`, open: first?.id ?? '' },
  );
}
