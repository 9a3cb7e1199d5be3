import type { ReactNode } from 'react';
import { Banner } from '../../components/banner.tsx';
import { formatCount } from '../../format/format-number.ts';

/** Says that there were more refused requests than lines. */
export function LeftOutNote({ count }: { readonly count: number }): ReactNode {
  if (count === 0) return null;
  return (
    <Banner tone="neutral">
      {formatCount(count)} refused {count === 1 ? 'request is' : 'requests are'} not listed. The list has at most 100
      refused requests of a key in a minute, and 10 once the key is revoked or expired or the organization suspended.
      All of them count in the overview and under Errors.
    </Banner>
  );
}
