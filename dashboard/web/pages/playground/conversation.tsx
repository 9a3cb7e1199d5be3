import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import type { RequestView } from '#contract/request-log.ts';
import { useAsk } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy.tsx';
import { Banner } from '../../components/panels.tsx';
import { Duration, Money, StatusPill } from '../../components/values.tsx';
import { AboutError } from '../../errors/about-error.tsx';
import { formatCount, formatDollars, formatMoney } from '../../format/format.ts';
import { PayButton, useMayPay } from '../../organizations/balance-banner.tsx';
import { statusLabel, statusTone } from '../requests/request-labels.ts';
import { CodeBlock, Markdown } from './markdown.tsx';
import {
  isEmpty,
  isOpen,
  type Play,
  type PlayFailure,
  type PlayIds,
  type PlayResponse,
  type PlayUsage,
} from './play-response.ts';
import styles from './playground.module.css';

interface ConversationProps {
  readonly plays: readonly Play[];
  /** Absent while a request is in progress. */
  readonly onAgain: ((play: Play, column: number) => void) | undefined;
}

export function Conversation({ plays, onAgain }: ConversationProps): ReactNode {
  return (
    <ol className={styles.conversation} aria-label="Conversation">
      {plays.map((play) => (
        <li key={play.id} className="section">
          <article className={styles.said} aria-label="You">
            <h2 className={styles.who}>You</h2>
            {play.images.map((url) => (
              <img key={url} className={styles.image} src={url} alt="Attached" />
            ))}
            <p className={styles.text}>{play.said}</p>
          </article>
          <div className={styles.answers}>
            {play.answers.map(({ model, response }, column) => (
              // biome-ignore lint/suspicious/noArrayIndexKey: an answer never changes its column.
              <article key={column} className={styles.response} aria-label={model} aria-busy={isOpen(response)}>
                <h2 className={styles.who}>
                  <code>{model}</code>
                  {response.text !== '' && !isOpen(response) && <CopyButton text={response.text} what="response" />}
                </h2>
                <ResponseView response={response} />
                {isEmpty(response) && response.state !== 'complete' && onAgain && (
                  <div>
                    <Button size="small" icon="refresh" onClick={() => onAgain(play, column)}>
                      Send again
                    </Button>
                  </div>
                )}
              </article>
            ))}
          </div>
        </li>
      ))}
    </ol>
  );
}

function ResponseView({ response }: { readonly response: PlayResponse }): ReactNode {
  const { state, text, reasoning, calls, usage, ids } = response;
  return (
    <>
      {reasoning !== '' && (
        <details className="muted">
          <summary>Reasoning</summary>
          <p className={styles.text}>{reasoning}</p>
        </details>
      )}
      {text !== '' && <Markdown text={text} />}
      {calls.map(({ id, function: { name, arguments: text } }) => (
        <CodeBlock key={id} language={`Calls ${name}`} text={text} />
      ))}
      {state === 'waiting' && <p className="muted">Waiting for the first token…</p>}
      <Failure response={response} />
      {state === 'stopped' && <Stopped response={response} />}
      {ids !== undefined && !isOpen(response) && <LogLine ids={ids} usage={usage} />}
    </>
  );
}

/** The request's ids arrive with the start of its response. */
function Stopped({ response }: { readonly response: PlayResponse }): ReactNode {
  if (response.ids !== undefined) {
    return <p className="muted">Stopped. You are charged for the output so far.</p>;
  }
  return (
    <p className="muted">
      Stopped before an answer. If a provider was asked, the prompt is charged: see{' '}
      <Link from="/o/$organization" to="/o/$organization/requests">
        the request log
      </Link>
      .
    </p>
  );
}

function Failure({ response }: { readonly response: PlayResponse }): ReactNode {
  const { state, failure, problem } = response;
  if (problem !== undefined) return <Banner tone="bad">{problem.message}</Banner>;
  if (state === 'cut') {
    return (
      <Banner tone="bad" title="The stream was cut off">
        The connection broke, or the answer exceeded 5 minutes or 8 MiB. You are charged for the output so far.
      </Banner>
    );
  }
  return failure === undefined ? null : <GatewayFailure failure={failure} />;
}

function GatewayFailure({ failure }: { readonly failure: PlayFailure }): ReactNode {
  const { status, code, message } = failure;
  return (
    <div className="section">
      <Banner
        tone="bad"
        title={[status, code].filter(Boolean).join(' ')}
        action={code === SHORT && <PayButton beside />}
      >
        {message}
      </Banner>
      <KeyNote failure={failure} />
      {code !== undefined && <AboutError code={code} />}
    </div>
  );
}

const SHORT = 'insufficient_credits';

/** Notes that apply only to the playground. */
function KeyNote({ failure: { code, metadata } }: { readonly failure: PlayFailure }): ReactNode {
  const { playground, takesPayments = false } = useSession();
  const mayPay = useMayPay();
  const { affordable_output_tokens: affordable } = metadata;
  if (code === SHORT) {
    return (
      <>
        {takesPayments && !mayPay && <p>An owner of the organization can add credit.</p>}
        {typeof affordable === 'number' && affordable > 0 && (
          <p>With an output limit of {formatCount(affordable)} tokens this request would be admitted now.</p>
        )}
      </>
    );
  }
  if (code !== 'daily_budget_exceeded' || playground === undefined) return null;
  return (
    <p>
      The playground’s key may spend {formatMoney(playground.budgetNanoUsd)} within its {playground.keyMinutes} minutes,
      or the daily budget of the chosen key. A smaller output limit needs less.
    </p>
  );
}

/** A request is in the log a second after its end, a cancelled one after its charge. */
const LOOK_EVERY_MS = 700;
const LOOK_FOR_MS = 30_000;

interface LogLineProps {
  readonly ids: PlayIds;
  /** Usage from the stream, shown until the log has the request. Absent: the stream had none. */
  readonly usage: PlayUsage | undefined;
}

/** The request in the log: its cost, and a link to its details. */
function LogLine({ ids, usage }: LogLineProps): ReactNode {
  const search = ids.generationId ?? ids.requestId ?? '';
  const [looking, setLooking] = useState(search !== '');
  const options = { refreshMs: LOOK_EVERY_MS, enabled: looking };
  const query = useAsk('GET /api/organizations/:organization/requests', { query: { search } }, options);
  const request = query.data?.requests[0];
  useEffect(() => {
    if (request !== undefined) setLooking(false);
  }, [request]);
  useEffect(() => {
    const timer = setTimeout(() => setLooking(false), LOOK_FOR_MS);
    return () => clearTimeout(timer);
  }, []);
  if (request !== undefined) return <Line request={request} />;
  return (
    <p className={styles.figures}>
      {usage && (
        <>
          <Tokens prompt={usage.promptTokens} completion={usage.completionTokens} />
          <span>{formatDollars(usage.costUsd)}</span>
        </>
      )}
      <span>{looking ? 'Waiting for the request log…' : 'Not in the request log.'}</span>
    </p>
  );
}

function Line({ request }: { readonly request: RequestView }): ReactNode {
  const { promptTokens, completionTokens = 0, costNanoUsd, firstEventMs, durationMs } = request;
  return (
    <p className={styles.figures}>
      <StatusPill tone={statusTone(request)}>{statusLabel(request)}</StatusPill>
      {promptTokens !== undefined && <Tokens prompt={promptTokens} completion={completionTokens} />}
      <span>{costNanoUsd === undefined ? 'Not charged' : <Money nanoUsd={costNanoUsd} />}</span>
      {firstEventMs !== undefined && (
        <span>
          first token <Duration milliseconds={firstEventMs} />
        </span>
      )}
      <span>
        total <Duration milliseconds={durationMs} />
      </span>
      {firstEventMs !== undefined && durationMs > firstEventMs && completionTokens > 1 && (
        <span>{formatCount(Math.round((completionTokens * 1000) / (durationMs - firstEventMs)))} tokens/s</span>
      )}
      <Link from="/o/$organization" to="/o/$organization/requests" search={{ open: request.id }}>
        Show in the log
      </Link>
    </p>
  );
}

function Tokens({ prompt, completion }: { readonly prompt: number; readonly completion: number }): ReactNode {
  return (
    <span>
      {formatCount(prompt)} in, {formatCount(completion)} out
    </span>
  );
}
