import { getRouteApi } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import type { ModelView } from '#contract/money.ts';
import { present } from '#core/present.ts';
import { useSession } from '../../api/session.ts';
import { useAsk } from '../../api/use-ask.ts';
import { Banner } from '../../components/banner.tsx';
import { Button } from '../../components/button.tsx';
import { Card } from '../../components/card.tsx';
import { CodeSnippet } from '../../components/code-snippet.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { Skeleton } from '../../components/skeleton.tsx';
import { EmptyState, Loaded } from '../../components/states.tsx';
import { formatMoney } from '../../format/format-money.ts';
import { Form } from '../../forms/form.tsx';
import { hasEnded } from '../../keys/key-labels.ts';
import { KEY_TO_FILL_IN, snippets } from '../../keys/snippets.ts';
import { filterModels } from '../../models/filter-models.ts';
import { useOrganization } from '../../shell/use-organization.ts';
import { Composer } from './composer.tsx';
import { Conversation } from './conversation.tsx';
import { messagesOf } from './play-response.ts';
import { NEW_PLAY, PlaySettings } from './play-settings.tsx';
import styles from './playground.module.css';
import { usePlay } from './use-play.ts';

const REFRESH_MS = 15_000;
const route = getRouteApi('/app/o/$organization/playground');

export function PlaygroundPage(): ReactNode {
  const { id, name, suspended } = useOrganization();
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
      {suspended && (
        <Banner tone="bad" title="This organization is suspended">
          Every request is refused with 403 org_suspended.
        </Banner>
      )}
      <Loaded query={models} skeleton={<Skeleton height="420px" />}>
        {(data) => <Playing key={id} organization={id} models={filterModels(data.models, {}, undefined)} />}
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
  const search = route.useSearch();
  const navigate = route.useNavigate();
  const [draft, setDraft] = useState(NEW_PLAY);
  const [text, setText] = useState('');
  const { plays, busy, send, sendAgain, stop, clear } = usePlay(organization);
  const keys = useAsk('GET /api/organizations/:organization/keys', { params: { organization } }).data?.keys;
  // A key of the address may have ended.
  const likeKey = keys === undefined ? search.key : keys.find((key) => key.id === search.key && !hasEnded(key))?.id;
  const model = models.some(({ id }) => id === search.model) ? search.model : models[0]?.id;
  const onSearch = (next: typeof search) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false });
  if (model === undefined) return <NoModels />;
  const { system, maxTokens = 1, temperature } = draft;
  const settings = { model, system, maxTokens, ...present({ temperature, likeKey }) };
  const onSubmit = () => {
    const said = text.trim();
    if (busy || said === '') return;
    send(said, settings);
    setText('');
  };
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
              onModel={(next) => onSearch({ model: next })}
              onLikeKey={(key) => onSearch({ key })}
              onDraft={setDraft}
            />
          </Card>
          <AsCode {...settings} messages={messagesOf(system, plays, text.trim())} />
        </div>
      </div>
    </Form>
  );
}

function NoModels(): ReactNode {
  return (
    <EmptyState icon="models" title="No models yet">
      The gateway has not reported its models yet. It does so within seconds of its start.
    </EmptyState>
  );
}

interface AsCodeProps {
  readonly model: string;
  readonly messages: ReturnType<typeof messagesOf>;
  readonly maxTokens: number;
  readonly temperature?: number;
}

function AsCode({ model, messages, maxTokens, temperature }: AsCodeProps): ReactNode {
  const { apiUrl } = useSession();
  const chat = messages.length === 0 ? undefined : { messages, maxTokens, ...present({ temperature }) };
  return (
    <Card title="As code">
      <CodeSnippet
        snippets={snippets({ apiUrl, secret: KEY_TO_FILL_IN, scopes: ['chat'], model, ...present({ chat }) })}
      />
    </Card>
  );
}
