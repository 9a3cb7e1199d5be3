import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import type { RequestDetail, RequestView } from '#contract/request-log.ts';
import { present } from '#core/present.ts';
import { useAsk } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Banner, Skeleton, UnlessFailed } from '../../components/panels.tsx';
import { Duration, Facts, Instant, Money, Muted, StatusPill } from '../../components/values.tsx';
import { AboutError } from '../../errors/about-error.tsx';
import { adviceFor, readableMessage } from '../../errors/error-advice.ts';
import { formatCount } from '../../format/format.ts';
import { Dialog } from '../../overlays/dialog.tsx';
import { ChargeDetails } from './charge-details.tsx';
import { routeLabel, statusLabel, statusTone } from './request-labels.ts';
import styles from './requests.module.css';

interface RequestDrawerProps {
  /** Absent while closed. */
  readonly id: string | undefined;
  readonly rows: readonly RequestView[] | undefined;
  readonly onOpen: (id: string) => void;
  readonly onClose: () => void;
}

/** All details of one request. The arrow keys move to the neighbouring rows. */
export function RequestDrawer({ id, rows, onOpen, onClose }: RequestDrawerProps): ReactNode {
  const detail = useAsk(
    'GET /api/organizations/:organization/requests/:request',
    { params: { request: id ?? '' } },
    { enabled: id !== undefined },
  );
  const index = rows?.findIndex((row) => row.id === id) ?? -1;
  const newer = index > 0 ? rows?.[index - 1]?.id : undefined;
  const older = index >= 0 ? rows?.[index + 1]?.id : undefined;
  const request = detail.data ?? rows?.[index];
  useArrowKeys(id !== undefined, (key) => {
    const next = key === 'ArrowUp' ? newer : older;
    if (next !== undefined) onOpen(next);
  });
  return (
    <Dialog
      asDrawer
      open={id !== undefined}
      onClose={onClose}
      title={request ? (request.model ?? routeLabel(request.route)) : 'Request'}
      description={request && <StatusPill tone={statusTone(request)}>{statusLabel(request)}</StatusPill>}
      footer={
        index >= 0 && (
          <>
            <Button icon="chevronUp" disabled={newer === undefined} onClick={() => newer && onOpen(newer)}>
              Newer
            </Button>
            <Button icon="chevronDown" disabled={older === undefined} onClick={() => older && onOpen(older)}>
              Older
            </Button>
          </>
        )
      }
    >
      <UnlessFailed query={detail}>
        <div className="parts">
          {request?.code !== undefined && <RequestError code={request.code} />}
          <RequestDetails request={request} detail={detail.data} />
          {detail.data?.charge && <ChargeDetails charge={detail.data.charge} />}
        </div>
      </UnlessFailed>
    </Dialog>
  );
}

function useArrowKeys(active: boolean, walk: (key: 'ArrowUp' | 'ArrowDown') => void): void {
  useEffect(() => {
    if (!active) return;
    const listen = (event: KeyboardEvent) => {
      if (event.key !== 'ArrowUp' && event.key !== 'ArrowDown') return;
      if (event.altKey || event.ctrlKey || event.metaKey || event.shiftKey || event.defaultPrevented) return;
      event.preventDefault();
      walk(event.key);
    };
    // Runs before the dialog's own listener, which stops key events.
    window.addEventListener('keydown', listen, { capture: true });
    return () => window.removeEventListener('keydown', listen, { capture: true });
  }, [active, walk]);
}

/** Explains the error code. The error message of a request is not stored. */
function RequestError({ code }: { readonly code: string }): ReactNode {
  const advice = adviceFor(code);
  if (advice === undefined) return null;
  const message = readableMessage(advice.entry);
  return (
    <section className="section" aria-label="About this error">
      {message && <Banner tone="neutral">{message}</Banner>}
      <AboutError code={code} />
    </section>
  );
}

/** Explains the error code of the filter. */
export function CodeNote({ code }: { readonly code: string }): ReactNode {
  const advice = adviceFor(code);
  if (advice === undefined) return null;
  return (
    <p className="muted prose">
      <code>{code}</code>: {readableMessage(advice.entry)} {advice.entry.advice}{' '}
      <Link to="/errors" hash={code}>
        More about this error
      </Link>
    </p>
  );
}

interface RequestDetailsProps {
  /** The row of the table, shown until the details are loaded. */
  readonly request: RequestView | undefined;
  readonly detail: RequestDetail | undefined;
}

function RequestDetails({ request, detail }: RequestDetailsProps): ReactNode {
  const { playground } = useSession();
  if (request === undefined) return <Skeleton height="480px" />;
  const { keyId, keyName, model, route, firstEventMs, costNanoUsd } = request;
  return (
    <Facts
      of={{
        Time: <Instant atMs={request.atMs} show="full" />,
        Key: (
          <>
            <Link from="/o/$organization" to="/o/$organization/keys" search={{ key: keyId, show: 'all' }}>
              {keyName}
            </Link>
            {detail?.keyLast4 !== undefined && <span className="muted"> …{detail.keyLast4}</span>}
          </>
        ),
        Operation: (
          <>
            <code>{routeLabel(route)}</code>
            {request.streamed && <span className="muted"> streamed</span>}
          </>
        ),
        'Input tokens': <Tokens count={request.promptTokens} of={detail?.cachedTokens} word="cached" />,
        'Output tokens': <Tokens count={request.completionTokens} of={detail?.reasoningTokens} word="reasoning" />,
        Cost: costNanoUsd === undefined ? <Muted>Not charged</Muted> : <Money nanoUsd={costNanoUsd} />,
        'First token': firstEventMs === undefined ? NONE : <Duration milliseconds={firstEventMs} />,
        Duration: <Duration milliseconds={request.durationMs} />,
        Messages: (
          <>
            Not stored.{' '}
            {playground && model !== undefined && (
              <Link from="/o/$organization" to="/o/$organization/playground" search={{ model, key: keyId }}>
                Try the model and key in the playground
              </Link>
            )}
          </>
        ),
        ...originOf(detail),
      }}
    />
  );
}

/** Facts that only the details contain. */
function originOf(detail: RequestDetail | undefined): Readonly<Record<string, ReactNode>> {
  const known = (value: (of: RequestDetail) => ReactNode, width?: string) =>
    detail ? value(detail) : <Skeleton {...present({ width })} />;
  return {
    Notes: (detail?.replayed || detail?.clientGone) && (
      <>
        {detail.replayed && (
          <div>
            Replayed: the stored response to an earlier request with the same Idempotency-Key. Not charged again.
          </div>
        )}
        {detail.clientGone && <div>The client disconnected before the end.</div>}
      </>
    ),
    Provider: known(({ provider }) => provider ?? <Muted>Not called</Muted>, '80px'),
    'Uncharged attempts': detail?.unchargedAttempts && (
      <ul className="stack">
        {detail.unchargedAttempts.map(({ provider, providerModel, result }, index) => (
          // biome-ignore lint/suspicious/noArrayIndexKey: attempts have no id, and their order stays
          <li key={index}>
            {provider} <span className="muted">{providerModel}</span> <code>{result}</code>
          </li>
        ))}
      </ul>
    ),
    'Request id': known(({ requestId }) => <Id text={requestId} what="request id" />),
    'Generation id': known(({ generationId }) =>
      generationId === undefined ? NONE : <Id text={generationId} what="generation id" />,
    ),
    Address: known(({ address }) => <code>{address}</code>, '120px'),
    User: known(({ user }) => user ?? NONE),
    Metadata: known(({ metadata }) => metadata ?? NONE),
    'User agent': known(({ userAgent }) => userAgent ?? NONE),
  };
}

const NONE = <Muted>None</Muted>;

function Tokens(props: {
  readonly count: number | undefined;
  readonly of: number | undefined;
  readonly word: string;
}): ReactNode {
  if (props.count === undefined) return NONE;
  return (
    <>
      {formatCount(props.count)}
      {props.of !== undefined && props.of > 0 && (
        <span className="muted">
          , {formatCount(props.of)} {props.word}
        </span>
      )}
    </>
  );
}

function Id({ text, what }: { readonly text: string; readonly what: string }): ReactNode {
  return (
    <span className={styles.id}>
      <code>{text}</code>
      <CopyButton text={text} what={what} />
    </span>
  );
}
