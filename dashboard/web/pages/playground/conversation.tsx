import { Link } from '@tanstack/react-router';
import { type ReactNode, useEffect, useRef } from 'react';
import { Button } from '../../components/button.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Failure } from './failure.tsx';
import { LogLine } from './log-line.tsx';
import { isOpen, type Play, type PlayResponse } from './play-response.ts';
import styles from './playground.module.css';

export interface ConversationProps {
  readonly organization: string;
  readonly plays: readonly Play[];
  /** Absent while a request is in progress. */
  readonly onAgain: ((play: Play) => void) | undefined;
}

/** All messages as plain text: a model may answer with anything. */
export function Conversation({ organization, plays, onAgain }: ConversationProps): ReactNode {
  const list = useRef<HTMLOListElement>(null);
  const count = plays.length;
  useEffect(() => {
    if (count > 0) list.current?.lastElementChild?.scrollIntoView({ block: 'nearest' });
  }, [count]);
  return (
    <ol ref={list} className={styles.conversation} aria-label="Conversation">
      {plays.map((play) => (
        <li key={play.id} className={styles.play}>
          <PlayView organization={organization} play={play} onAgain={onAgain} />
        </li>
      ))}
    </ol>
  );
}

type PlayViewProps = Omit<ConversationProps, 'plays'> & { readonly play: Play };

function PlayView({ organization, play, onAgain }: PlayViewProps): ReactNode {
  const { said, model, response } = play;
  const isUnanswered = response.text === '' && response.state !== 'complete';
  return (
    <>
      <article className={styles.said} aria-label="You">
        <h2 className={styles.who}>You</h2>
        <p className={styles.text}>{said}</p>
      </article>
      <article className={styles.response} aria-label={model} aria-busy={isOpen(response)}>
        <h2 className={styles.who}>
          <code>{model}</code>
          {response.text !== '' && !isOpen(response) && <CopyButton text={response.text} what="response" />}
        </h2>
        <ResponseView organization={organization} response={response} />
        {isUnanswered && onAgain && (
          <div>
            <Button size="small" icon="refresh" onClick={() => onAgain(play)}>
              Send again
            </Button>
          </div>
        )}
      </article>
    </>
  );
}

function ResponseView({
  organization,
  response,
}: {
  readonly organization: string;
  readonly response: PlayResponse;
}): ReactNode {
  const { state, text, reasoning, usage, ids } = response;
  return (
    <>
      {reasoning !== '' && (
        <details className={styles.reasoning}>
          <summary>Reasoning</summary>
          <p className={styles.text}>{reasoning}</p>
        </details>
      )}
      {text !== '' && <p className={styles.text}>{text}</p>}
      {state === 'waiting' && <p className="muted">Waiting for the first token…</p>}
      <Failure response={response} />
      {state === 'stopped' && <Stopped organization={organization} response={response} />}
      {ids !== undefined && !isOpen(response) && <LogLine organization={organization} ids={ids} usage={usage} />}
    </>
  );
}

/** The ids of a request come with the beginning of its response. */
function Stopped({
  organization,
  response,
}: {
  readonly organization: string;
  readonly response: PlayResponse;
}): ReactNode {
  if (response.ids !== undefined) {
    return <p className="muted">Stopped. What had been produced is charged, as for any client that leaves.</p>;
  }
  return (
    <p className="muted">
      Stopped before the gateway had answered. If a provider had been asked, the prompt is charged: see{' '}
      <Link to="/o/$organization/requests" params={{ organization }}>
        the request log
      </Link>
      .
    </p>
  );
}
