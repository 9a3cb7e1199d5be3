import { type ReactNode, useMemo, useState } from 'react';
import type { RequestView } from '#contract/request-log.ts';
import { CLIENT_GONE_STATUS } from '#core/errors/error-codes.ts';
import { parseObject } from '#core/json-object.ts';
import { Button } from '../../components/button.tsx';
import { classNames } from '../../components/class-names.ts';
import { keep, kept } from '../../components/kept.ts';
import { Dash, Duration, Instant, Money, StatusPill } from '../../components/values.tsx';
import { Menu } from '../../overlays/menu.tsx';
import { type Column, figureColumn } from '../../table/table.tsx';
import { isBroken, routeLabel, statusTone, tokenLabel } from './request-labels.ts';
import styles from './requests.module.css';

const NONE = <Dash words="none" />;

const CHOOSABLE: Readonly<Record<string, Column<RequestView>>> = {
  key: { header: 'Key', hideBelow: 'wide', cell: ({ keyName }) => <Name text={keyName} /> },
  user: { header: 'End user', hideBelow: 'wide', cell: ({ user }) => (user ? <Name text={user} /> : NONE) },
  address: { header: 'Address', hideBelow: 'wide', cell: ({ address }) => <code>{address}</code> },
  tokens: figureColumn('Tokens', (request) => tokenLabel(request) ?? NONE, { hideBelow: 'narrow' }),
  cost: figureColumn(
    'Cost',
    ({ costNanoUsd }) => (costNanoUsd === undefined ? NONE : <Money nanoUsd={costNanoUsd} aligned />),
    { hideBelow: 'narrow' },
  ),
  first: figureColumn(
    'First token',
    ({ firstEventMs }) => (firstEventMs === undefined ? NONE : <Duration milliseconds={firstEventMs} />),
    { hideBelow: 'wide' },
  ),
  duration: figureColumn('Duration', ({ durationMs }) => <Duration milliseconds={durationMs} />, {
    hideBelow: 'medium',
  }),
};

interface LogLook {
  readonly hidden: readonly string[];
  readonly roomy: boolean;
}

const NAME = 'request-log';

/** Reads the look from this browser's storage, which may come from another release. */
function keptLook(): LogLook {
  const { hidden, roomy } = parseObject(kept(NAME) ?? '') ?? {};
  const known = Array.isArray(hidden)
    ? Object.keys(CHOOSABLE).filter((id) => hidden.includes(id))
    : ['user', 'address', 'first'];
  return { hidden: known, roomy: roomy === true };
}

/**
 * Columns and density of the request log, which are stored in this browser, and their menu. The
 * `needed` columns are always shown.
 */
export function useLogLook(needed: readonly string[]) {
  const [look, setLook] = useState(keptLook);
  const choose = (next: LogLook) => {
    setLook(next);
    keep(NAME, JSON.stringify(next));
  };
  const { hidden, roomy } = look;
  const toggle = (id: string) =>
    choose({ ...look, hidden: hidden.includes(id) ? hidden.filter((other) => other !== id) : [...hidden, id] });
  const menu = (
    <Menu
      trigger={<Button icon="columns">Columns</Button>}
      groups={[
        {
          heading: 'Columns',
          actions: Object.entries(CHOOSABLE).map(([id, { header }]) => ({
            label: header,
            chosen: !hidden.includes(id),
            staysOpen: true,
            onSelect: () => toggle(id),
          })),
        },
        {
          heading: 'Rows',
          actions: [
            { label: 'Compact', chosen: !roomy, onSelect: () => choose({ ...look, roomy: false }) },
            { label: 'Comfortable', chosen: roomy, onSelect: () => choose({ ...look, roomy: true }) },
          ],
        },
      ]}
    />
  );
  const columns = useMemo(
    () => [...FIRST, ...visible(hidden.filter((id) => !needed.includes(id))), ON_PHONES],
    [hidden, needed],
  );
  return { menu, columns, density: roomy ? 'dense' : 'compact' } as const;
}

function visible(hidden: readonly string[]): readonly Column<RequestView>[] {
  return Object.entries(CHOOSABLE).flatMap(([id, column]) => (hidden.includes(id) ? [] : [column]));
}

function Status({ of: request }: { readonly of: RequestView }): ReactNode {
  const { status, code } = request;
  const broken = isBroken(request);
  const words = code ?? (status === CLIENT_GONE_STATUS ? 'client left' : '');
  return (
    <span
      className={styles.status}
      data-hint={broken ? `The response began with status ${status} and broke off: ${code}` : code}
    >
      <StatusPill tone={statusTone(request)}>{broken ? `${status} broken` : status}</StatusPill>
      <span className={styles.code}>{words}</span>
    </span>
  );
}

function Target({ of: { model, route } }: { readonly of: RequestView }): ReactNode {
  return <Name text={model ?? routeLabel(route)} muted={model === undefined} />;
}

function Name({ text, muted = false }: { readonly text: string; readonly muted?: boolean }): ReactNode {
  return (
    <span className={classNames(styles.name, muted && 'muted')} data-hint={text}>
      {text}
    </span>
  );
}

const FIRST: readonly Column<RequestView>[] = [
  { header: 'Time', hideBelow: 'narrow', cell: ({ atMs }) => <Instant atMs={atMs} show="short" /> },
  { header: 'Status', hideBelow: 'narrow', cell: (request) => <Status of={request} /> },
  { header: 'Model', hideBelow: 'narrow', cell: (request) => <Target of={request} /> },
];

/** On a phone one cell shows the whole request. */
const ON_PHONES: Column<RequestView> = {
  header: 'Request',
  showBelow: 'narrow',
  cell: (request) => <TwoLines of={request} />,
};

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
