import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { Overview } from '#contract/organization.ts';
import { Card } from '../../components/card.tsx';
import { Count } from '../../components/figures.tsx';
import { formatPercent } from '../../format/format-number.ts';
import styles from './overview.module.css';
import { RANGE_LABELS } from './overview-url.ts';

/** The most frequent errors, with links to their requests. */
export function FailureCodes({
  overview,
  organization,
}: {
  readonly overview: Overview;
  readonly organization: string;
}): ReactNode {
  const { totals, range, stepStartsMs } = overview;
  if (totals.failureCodes.length === 0) return null;
  const others = totals.failures - totals.failureCodes.reduce((sum, { requests }) => sum + requests, 0);
  return (
    <Card title="Most frequent errors">
      <ol className={styles.codes}>
        {totals.failureCodes.map(({ code, requests }) => (
          <li key={code} className={styles.row}>
            <Link
              to="/o/$organization/requests"
              params={{ organization }}
              search={{ code, fromMs: stepStartsMs[0] }}
              className={styles.code}
            >
              <code>{code}</code>
              <span className="visually-hidden">: show the requests of the last {RANGE_LABELS[range]}</span>
            </Link>
            <Count value={requests} />
            <span className={styles.share}>{formatPercent(requests / totals.requests)}</span>
          </li>
        ))}
        {others > 0 && (
          <li className={styles.row}>
            <span className={styles.code}>Other codes</span>
            <Count value={others} />
            <span className={styles.share}>{formatPercent(others / totals.requests)}</span>
          </li>
        )}
      </ol>
    </Card>
  );
}
