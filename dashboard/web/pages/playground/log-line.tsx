import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useState } from 'react';
import type { RequestView } from '#contract/request-log.ts';
import { useAsk } from '../../api/use-ask.ts';
import { StatusPill } from '../../components/badge.tsx';
import { Duration, Money } from '../../components/figures.tsx';
import { formatDollars } from '../../format/format-money.ts';
import { formatCount } from '../../format/format-number.ts';
import { statusLabel, statusTone } from '../requests/request-labels.ts';
import type { PlayIds, PlayUsage } from './play.ts';
import styles from './playground.module.css';

/** The log has a request within a second after its end, and a cancelled one after its charge. */
const LOOK_EVERY_MS = 700;
const LOOK_FOR_MS = 30_000;

export interface LogLineProps {
  readonly organization: string;
  readonly ids: PlayIds;
  /** Usage in the stream, shown until the log has the request. Absent: the stream had none. */
  readonly usage: PlayUsage | undefined;
}

/** The request as the log has it: what it cost, and a link to everything else. */
export function LogLine({ organization, ids, usage }: LogLineProps): ReactNode {
  const search = ids.generationId ?? ids.requestId ?? '';
  const [looking, setLooking] = useState(search !== '');
  const query = useAsk(
    'GET /api/organizations/:organization/requests',
    { params: { organization }, query: { search } },
    { refreshMs: LOOK_EVERY_MS, enabled: looking },
  );
  const request = query.data?.requests[0];
  useEffect(() => {
    if (request !== undefined) setLooking(false);
  }, [request]);
  useEffect(() => {
    const timer = setTimeout(() => setLooking(false), LOOK_FOR_MS);
    return () => clearTimeout(timer);
  }, []);
  if (request !== undefined) return <Line organization={organization} request={request} />;
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

function Line({ organization, request }: { readonly organization: string; readonly request: RequestView }): ReactNode {
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
      <Link to="/o/$organization/requests" params={{ organization }} search={{ open: request.id }}>
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
