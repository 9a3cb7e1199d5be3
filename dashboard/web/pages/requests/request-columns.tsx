import type { ReactNode } from 'react';
import type { RequestView } from '#contract/request-log.ts';
import { CLIENT_GONE_STATUS } from '#core/errors/error-codes.ts';
import { classNames } from '../../components/class-names.ts';
import { Duration, Instant, Money, StatusPill } from '../../components/values.tsx';
import type { Column } from '../../table/table.tsx';
import { routeLabel, statusTone, tokenLabel } from './request-labels.ts';
import styles from './requests.module.css';

/** Columns of the request log. On a phone the last one has the whole request. */
export const REQUEST_COLUMNS: readonly Column<RequestView>[] = [
  { header: 'Time', hideBelow: 'narrow', cell: ({ atMs }) => <Instant atMs={atMs} show="short" /> },
  { header: 'Status', hideBelow: 'narrow', cell: (request) => <Status of={request} /> },
  { header: 'Model', hideBelow: 'narrow', cell: (request) => <Target of={request} /> },
  {
    header: 'Key',
    hideBelow: 'wide',
    cell: ({ keyName }) => (
      <span className={styles.name} data-hint={keyName}>
        {keyName}
      </span>
    ),
  },
  {
    header: 'Tokens',
    numeric: true,
    hideBelow: 'narrow',
    cell: (request) => tokenLabel(request) ?? <None />,
  },
  {
    header: 'Cost',
    numeric: true,
    hideBelow: 'narrow',
    cell: ({ costNanoUsd }) => (costNanoUsd === undefined ? <None /> : <Money nanoUsd={costNanoUsd} />),
  },
  {
    header: 'First token',
    numeric: true,
    hideBelow: 'wide',
    cell: ({ firstEventMs }) => (firstEventMs === undefined ? <None /> : <Duration milliseconds={firstEventMs} />),
  },
  {
    header: 'Duration',
    numeric: true,
    hideBelow: 'medium',
    cell: ({ durationMs }) => <Duration milliseconds={durationMs} />,
  },
  { header: 'Request', showBelow: 'narrow', cell: (request) => <TwoLines of={request} /> },
];

function Status({ of: request }: { readonly of: RequestView }): ReactNode {
  const { status, code } = request;
  return (
    <span className={styles.status} data-hint={code}>
      <StatusPill tone={statusTone(request)}>{status}</StatusPill>
      <span className={styles.code}>{code ?? (status === CLIENT_GONE_STATUS ? 'client left' : '')}</span>
    </span>
  );
}

/** The model, or the route of a request without one. */
function Target({ of: { model, route } }: { readonly of: RequestView }): ReactNode {
  const words = model ?? routeLabel(route);
  return (
    <span className={classNames(styles.name, model === undefined && 'muted')} data-hint={words}>
      {words}
    </span>
  );
}

function None(): ReactNode {
  return (
    <span className="muted">
      <span aria-hidden="true">–</span>
      <span className="visually-hidden">none</span>
    </span>
  );
}

function TwoLines({ of: request }: { readonly of: RequestView }): ReactNode {
  const { atMs, keyName, costNanoUsd, durationMs } = request;
  return (
    <div className={styles.lines}>
      <div className={styles.line}>
        <Target of={request} />
        <Status of={request} />
      </div>
      <div className={styles.line}>
        <span className={styles.name}>
          <Instant atMs={atMs} show="short" /> · {keyName}
        </span>
        <span className={styles.figures}>
          {costNanoUsd !== undefined && <Money nanoUsd={costNanoUsd} />}
          <Duration milliseconds={durationMs} />
        </span>
      </div>
    </div>
  );
}
