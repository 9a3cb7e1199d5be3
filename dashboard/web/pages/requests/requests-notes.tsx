import type { ReactNode } from 'react';
import { Banner } from '../../components/banner.tsx';
import { LinkButton } from '../../components/button.tsx';
import { EmptyState } from '../../components/states.tsx';
import { formatCount } from '../../format/format-number.ts';
import type { RequestsUrlState } from './requests-url.ts';

export interface NoRequestsProps {
  readonly organization: string;
  readonly search: RequestsUrlState;
  readonly filtered: boolean;
}

export function NoRequests({ organization, search, filtered }: NoRequestsProps): ReactNode {
  if (search.search !== undefined) {
    return (
      <EmptyState icon="search" title="No request has this id">
        Paste the whole x-request-id of a response, or a generation id, which begins with gen-. Requests are kept for a
        limited time.
      </EmptyState>
    );
  }
  if (filtered) {
    return (
      <EmptyState icon="filter" title="No request matches these filters">
        Choose a longer time, or take a filter away.
      </EmptyState>
    );
  }
  return (
    <EmptyState
      icon="requests"
      title="No requests yet"
      action={
        <LinkButton to="/o/$organization/keys" params={{ organization }} icon="key">
          API keys
        </LinkButton>
      }
    >
      Create a key and send a first request: it appears here within a second.
    </EmptyState>
  );
}

/** The number of omitted requests. */
export function OmittedNote({ count }: { readonly count: number }): ReactNode {
  if (count === 0) return null;
  return (
    <Banner tone="neutral">
      {formatCount(count)} refused {count === 1 ? 'request is' : 'requests are'} not listed. The list has at most 100
      refused requests of a key in a minute, and 10 once the key is revoked or expired or the organization suspended.
      All of them count in the overview and under Errors.
    </Banner>
  );
}
