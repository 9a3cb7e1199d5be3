import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { RequestDetail, RequestView } from '#contract/request-log.ts';
import { CopyButton } from '../../components/copy-button.tsx';
import { Fact, Facts, Muted } from '../../components/facts.tsx';
import { Duration, Instant, Money } from '../../components/figures.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { formatCount } from '../../format/format-number.ts';
import { routeLabel } from './request-labels.ts';
import styles from './requests.module.css';

export interface RequestDetailsProps {
  readonly organization: string;
  /** The row of the table until the details are loaded. */
  readonly request: RequestView | undefined;
  readonly detail: RequestDetail | undefined;
}

export function RequestDetails({ organization, request, detail }: RequestDetailsProps): ReactNode {
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
          {detail.clientGone && <div>The client left before the end.</div>}
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
