import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect } from 'react';
import type { RequestDetail, RequestView } from '#contract/request-log.ts';
import { useAsk } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Banner, Skeleton, UnlessFailed } from '../../components/panels.tsx';
import { Duration, Fact, Facts, Instant, Money, Muted, StatusPill } from '../../components/values.tsx';
import { AboutError } from '../../errors/about-error.tsx';
import { adviceFor, readableMessage } from '../../errors/error-advice.ts';
import { formatCount } from '../../format/format.ts';
import { Dialog } from '../../overlays/dialog.tsx';
import { useOrganization } from '../../shell/use-organization.tsx';
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

/** All about one request. The arrow keys select the neighbouring rows. */
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
    // Runs before the dialog, which stops key events.
    window.addEventListener('keydown', listen, { capture: true });
    return () => window.removeEventListener('keydown', listen, { capture: true });
  }, [active, walk]);
}

/** Explains the error code. The message of the request is not stored. */
function RequestError({ code }: { readonly code: string }): ReactNode {
  const advice = adviceFor(code);
  if (advice === undefined) return null;
  return (
    <section className="section" aria-label="About this error">
      <Banner tone="neutral">{readableMessage(advice.entry)}</Banner>
      <AboutError code={code} />
    </section>
  );
}

/** Explains the code of the filter. */
export function CodeNote({ code }: { readonly code: string }): ReactNode {
  const advice = adviceFor(code);
  if (advice === undefined) return null;
  const saysItself = advice.entry.message !== '{problem}';
  return (
    <p className="muted prose">
      <code>{code}</code>: {saysItself && `${readableMessage(advice.entry)} `}
      {advice.entry.advice}{' '}
      <Link to="/errors" hash={code}>
        More about this error
      </Link>
    </p>
  );
}

interface RequestDetailsProps {
  /** The row of the table until the details are loaded. */
  readonly request: RequestView | undefined;
  readonly detail: RequestDetail | undefined;
}

function RequestDetails({ request, detail }: RequestDetailsProps): ReactNode {
  const { id: organization } = useOrganization();
  const { playground } = useSession();
  if (request === undefined) return <Skeleton height="480px" />;
  return (
    <Facts>
      <Fact label="Time">
        <Instant atMs={request.atMs} show="full" />
      </Fact>
      <Fact label="Key">
        <Link to="/o/$organization/keys" params={{ organization }} search={{ key: request.keyId, show: 'all' }}>
          {request.keyName}
        </Link>
        {detail?.keyLast4 !== undefined && <span className="muted"> …{detail.keyLast4}</span>}
      </Fact>
      <Fact label="Operation">
        <code>{routeLabel(request.route)}</code>
        {request.streamed && <span className="muted"> streamed</span>}
      </Fact>
      <Fact label="Input tokens">
        <Tokens count={request.promptTokens} of={detail?.cachedTokens} word="cached" />
      </Fact>
      <Fact label="Output tokens">
        <Tokens count={request.completionTokens} of={detail?.reasoningTokens} word="reasoning" />
      </Fact>
      <Fact label="Cost">
        {request.costNanoUsd === undefined ? <Muted>Not charged</Muted> : <Money nanoUsd={request.costNanoUsd} />}
      </Fact>
      <Fact label="First token">
        {request.firstEventMs === undefined ? <Muted>None</Muted> : <Duration milliseconds={request.firstEventMs} />}
      </Fact>
      <Fact label="Duration">
        <Duration milliseconds={request.durationMs} />
      </Fact>
      <Fact label="Messages">
        Not stored.
        {playground && request.model !== undefined && (
          <>
            {' '}
            <Link
              to="/o/$organization/playground"
              params={{ organization }}
              search={{ model: request.model, key: request.keyId }}
            >
              Try the model and key in the playground
            </Link>
          </>
        )}
      </Fact>
      <Origin detail={detail} />
    </Facts>
  );
}

/** Facts that only the details have. */
function Origin({ detail }: Pick<RequestDetailsProps, 'detail'>): ReactNode {
  return (
    <>
      {(detail?.replayed || detail?.clientGone) && (
        <Fact label="Notes">
          {detail.replayed && (
            <div>
              Replayed: the stored response to an earlier request with the same Idempotency-Key. Not charged again.
            </div>
          )}
          {detail.clientGone && <div>The client disconnected before the end.</div>}
        </Fact>
      )}
      <Fact label="Provider">{detail ? (detail.provider ?? <Muted>Not asked</Muted>) : <Skeleton width="80px" />}</Fact>
      <Fact label="Request id">{detail ? <Id text={detail.requestId} what="request id" /> : <Skeleton />}</Fact>
      <Fact label="Generation id">
        {detail === undefined ? (
          <Skeleton />
        ) : detail.generationId === undefined ? (
          <Muted>None</Muted>
        ) : (
          <Id text={detail.generationId} what="generation id" />
        )}
      </Fact>
      <Fact label="Address">{detail ? <code>{detail.address}</code> : <Skeleton width="120px" />}</Fact>
      <Fact label="User">{detail ? (detail.user ?? <Muted>None</Muted>) : <Skeleton />}</Fact>
      <Fact label="Metadata">{detail ? (detail.metadata ?? <Muted>None</Muted>) : <Skeleton />}</Fact>
      <Fact label="User agent">{detail ? (detail.userAgent ?? <Muted>None</Muted>) : <Skeleton />}</Fact>
    </>
  );
}

function Tokens(props: {
  readonly count: number | undefined;
  readonly of: number | undefined;
  readonly word: string;
}): ReactNode {
  if (props.count === undefined) return <Muted>None</Muted>;
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
