import type { AuditFilter } from '#contract/people.ts';
import { present } from '#core/present.ts';
import { boundsOf, readTimeRange, type TimeRange } from '../../search/time-range.ts';
import { idOf, oneOf, type RawUrl, text, type UrlState, urlReader } from '../../search/url-values.ts';
import { ACTIONS } from './audit-labels.ts';

/** `actor`: a part of the name of the person who did it. */
const readEvents = urlReader({ actor: text, action: oneOf(ACTIONS) });
const readOrganization = urlReader({ organization: idOf('org') });

export type AuditUrlState = UrlState<typeof readEvents> & TimeRange;
export type OperatorAuditUrlState = AuditUrlState & UrlState<typeof readOrganization>;

export function readAuditUrl(raw: RawUrl): AuditUrlState {
  return { ...readEvents(raw), ...readTimeRange(raw) };
}

export function readOperatorAuditUrl(raw: RawUrl): OperatorAuditUrlState {
  return { ...readOrganization(raw), ...readAuditUrl(raw) };
}

/** The filter of the request. */
export function auditFilter({ actor, action, ...times }: AuditUrlState, nowMs: number): AuditFilter {
  return { ...present({ actor, action }), ...boundsOf(times, nowMs) };
}
