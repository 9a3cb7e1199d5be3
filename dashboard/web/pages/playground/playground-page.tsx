import { type KeyboardEvent, type ReactNode, useRef, useState } from 'react';
import type { ModelView } from '#contract/money.ts';
import { present } from '#core/present.ts';
import { useAsk } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { CodeSnippet } from '../../components/copy.tsx';
import { Card, EmptyState, Loaded, PageHeader, Skeleton } from '../../components/panels.tsx';
import { formatMoney } from '../../format/format.ts';
import { Form } from '../../forms/form.tsx';
import { TextAreaField } from '../../forms/inputs.tsx';
import { hasEnded } from '../../keys/key-labels.ts';
import { type ChatExample, KEY_TO_FILL_IN, snippets } from '../../keys/snippets.ts';
import { chats, filterModels } from '../../models/model-labels.ts';
import { useUrl } from '../../search/use-url.ts';
import { SuspendedBanner, useOrganization } from '../../shell/use-organization.tsx';
import { playgroundSearch } from '../searches.ts';
import { Conversation } from './conversation.tsx';
import { messagesOf } from './play-response.ts';
import { NEW_PLAY, type PlayDraft, PlaySettings } from './play-settings.tsx';
import styles from './playground.module.css';
import { usePlay } from './use-play.ts';

const REFRESH_MS = 15_000;

export function PlaygroundPage(): ReactNode {
  const { id, name } = useOrganization();
  const { playground } = useSession();
  const params = { organization: id };
  const balance = useAsk('GET /api/organizations/:organization', { params }, { refreshMs: REFRESH_MS }).data
    ?.balanceNanoUsd;
  const models = useAsk('GET /api/organizations/:organization/models', { params });
  if (playground === undefined) return <NoPlayground />;
  return (
    <>
      <PageHeader
        title="Playground"
        description={
          <>
            Requests go through the gateway with a key that lives for {playground.keyMinutes} minutes and spends at most{' '}
            {formatMoney(playground.budgetNanoUsd)}. {name} pays for them
            {balance !== undefined && `; its balance is ${formatMoney(balance)}`}. Nothing that you write is stored
            here.
          </>
        }
      />
      <SuspendedBanner />
      <Loaded query={models} skeleton={<Skeleton height="420px" />}>
        {(data) => (
          <Playing key={id} organization={id} models={filterModels(data.models, {}, undefined).filter(chats)} />
        )}
      </Loaded>
    </>
  );
}

function NoPlayground(): ReactNode {
  return (
    <>
      <PageHeader title="Playground" />
      <EmptyState icon="play" title="There is no playground">
        The operator has not set one up: it needs <code>dashboard.playground_url</code> in the configuration.
      </EmptyState>
    </>
  );
}

interface PlayingProps {
  readonly organization: string;
  readonly models: readonly ModelView[];
}

function Playing({ organization, models }: PlayingProps): ReactNode {
  const { search, change } = useUrl(playgroundSearch);
  const [draft, setDraft] = useState(NEW_PLAY);
  const [text, setText] = useState('');
  const { plays, busy, send, sendAgain, stop, clear } = usePlay(organization);
  const keys = useAsk('GET /api/organizations/:organization/keys', { params: { organization } }).data?.keys;
  // A key of the address may have ended.
  const likeKey = keys === undefined ? search.key : keys.find((key) => key.id === search.key && !hasEnded(key))?.id;
  const model = models.some(({ id }) => id === search.model) ? search.model : models[0]?.id;
  if (model === undefined) {
    return (
      <EmptyState icon="models" title="No models yet">
        The gateway has not reported its models yet. It does so within seconds of its start.
      </EmptyState>
    );
  }
  const { system, maxTokens = 1, temperature } = draft;
  const settings = { model, system, maxTokens, ...present({ temperature, likeKey }) };
  const onSubmit = () => {
    const said = text.trim();
    if (busy || said === '') return;
    send(said, settings);
    setText('');
  };
  const messages = messagesOf(system, plays, text.trim());
  return (
    <Form onSubmit={onSubmit}>
      <div className={styles.page}>
        <div className={styles.talk}>
          {plays.length > 0 && (
            <Conversation
              organization={organization}
              plays={plays}
              onAgain={busy ? undefined : (play) => sendAgain(play, settings)}
            />
          )}
          <Composer busy={busy} onStop={stop} text={text} onText={setText} />
          <p className="visually-hidden" role="status">
            {busy ? 'The response arrives.' : plays.length > 0 && 'The response has ended.'}
          </p>
        </div>
        <div className={styles.side}>
          <Card
            title="Request"
            actions={
              plays.length > 0 && (
                <Button size="small" onClick={clear}>
                  New conversation
                </Button>
              )
            }
          >
            <PlaySettings
              models={models}
              keys={keys ?? []}
              model={model}
              likeKey={likeKey}
              draft={draft}
              onModel={(next) => change({ model: next })}
              onLikeKey={(key) => change({ key })}
              onDraft={setDraft}
            />
          </Card>
          <AsCode {...{ model, messages, maxTokens, temperature }} />
        </div>
      </div>
    </Form>
  );
}

type AsCodeProps = Omit<ChatExample, 'temperature'> & Pick<PlayDraft, 'temperature'> & { readonly model: string };

/** The next request in several languages. */
function AsCode({ model, messages, maxTokens, temperature }: AsCodeProps): ReactNode {
  const { apiUrl } = useSession();
  const chat = messages.length === 0 ? {} : { chat: { messages, ...present({ maxTokens, temperature }) } };
  return (
    <Card title="As code">
      <CodeSnippet snippets={snippets({ apiUrl, secret: KEY_TO_FILL_IN, scopes: ['chat'], model, ...chat })} />
    </Card>
  );
}

interface ComposerProps {
  readonly busy: boolean;
  readonly onStop: () => void;
  readonly text: string;
  readonly onText: (text: string) => void;
}

/** Enter sends and Escape stops, so that nobody needs the mouse. */
function Composer({ busy, onStop, text, onText }: ComposerProps): ReactNode {
  const box = useRef<HTMLTextAreaElement>(null);
  const onKeyDown = (event: KeyboardEvent) => {
    if (event.key === 'Escape' && busy) onStop();
    // A word that an input method composes is not finished with it.
    if (event.key !== 'Enter' || event.shiftKey || event.nativeEvent.isComposing) return;
    event.preventDefault();
    if (!busy) box.current?.form?.requestSubmit();
  };
  const stop = () => {
    onStop();
    // The focused button is about to go.
    box.current?.focus();
  };
  return (
    <div className={styles.composer}>
      <TextAreaField
        label="Message"
        required
        hint="Enter sends, Shift and Enter begin a new line, Escape stops."
        ref={box}
        value={text}
        onChange={onText}
        onKeyDown={onKeyDown}
      />
      {busy ? (
        <Button icon="pause" onClick={stop}>
          Stop
        </Button>
      ) : (
        <Button type="submit" tone="primary" icon="play">
          Send
        </Button>
      )}
    </div>
  );
}
