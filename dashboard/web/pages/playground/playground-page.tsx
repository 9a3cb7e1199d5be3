import { type ReactNode, type RefObject, useEffect, useLayoutEffect, useRef } from 'react';
import type { ModelView } from '#contract/money.ts';
import type { PlayChat } from '#contract/playground.ts';
import { present } from '#core/present.ts';
import { useKeptState } from '../../api/kept-state.ts';
import { useAsk } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { Button } from '../../components/button.tsx';
import { CodeSnippet } from '../../components/copy.tsx';
import { Card, EmptyState, Loaded, PageHeader, Skeleton } from '../../components/panels.tsx';
import { KEY_TO_FILL_IN, snippets } from '../../connect/snippets.ts';
import { formatMoney } from '../../format/format.ts';
import { Form } from '../../forms/form.tsx';
import { hasEnded } from '../../keys/key-labels.ts';
import { chats, cheapest, filterModels } from '../../models/model-labels.ts';
import { useUrl } from '../../search/use-url.ts';
import { SuspendedBanner, useOrganization } from '../../shell/use-organization.tsx';
import { type PlaygroundState, playgroundSearch } from '../searches.ts';
import { Composer } from './composer.tsx';
import { Conversation } from './conversation.tsx';
import { chatFor, NEW_PLAY, type PlayDraft, toolsIn } from './play-draft.ts';
import { messagesOf } from './play-response.ts';
import { PlaySettings } from './play-settings.tsx';
import styles from './playground.module.css';
import { usePlay } from './use-play.ts';

const REFRESH_MS = 15_000;

export function PlaygroundPage(): ReactNode {
  const { playground } = useSession();
  const organization = useAsk('GET /api/organizations/:organization', {}, { refreshMs: REFRESH_MS });
  const payer = organization.data;
  const models = useAsk('GET /api/organizations/:organization/models');
  if (playground === undefined) return <NoPlayground />;
  return (
    <>
      <PageHeader
        title="Playground"
        description={
          <>
            Requests are billed, with a temporary key that spends at most {formatMoney(playground.budgetNanoUsd)}. Your
            messages are not stored.
            <br />
            Balance
            {payer && (
              <>
                {' '}
                of <bdi>{payer.name}</bdi>
              </>
            )}
            : {payer ? formatMoney(payer.balanceNanoUsd) : '…'}
          </>
        }
      />
      <SuspendedBanner />
      {/* The name of the organization may take several lines, which must not move the form. */}
      <Loaded query={organization} skeleton={<Skeleton height="420px" />}>
        {() => (
          <Loaded query={models} skeleton={<Skeleton height="420px" />}>
            {(data) => <Playing models={filterModels(data.models, {}, undefined).filter(chats)} />}
          </Loaded>
        )}
      </Loaded>
    </>
  );
}

function NoPlayground(): ReactNode {
  return (
    <>
      <PageHeader title="Playground" />
      <EmptyState icon="play" title="The playground is not set up">
        It needs <code>dashboard.playground_url</code> in the configuration.
      </EmptyState>
    </>
  );
}

function NoModels(): ReactNode {
  return (
    <EmptyState icon="models" title="No models yet">
      Models appear within seconds of the gateway’s start.
    </EmptyState>
  );
}

function Playing({ models }: { readonly models: readonly ModelView[] }): ReactNode {
  const { id: organization } = useOrganization();
  const { search, change } = useUrl(playgroundSearch);
  const [draft, setDraft] = useKeptState(['play', organization], NEW_PLAY);
  const [text, setText] = useKeptState(['text', organization], '');
  const [attached, setImages] = useKeptState<readonly string[]>(['images', organization], []);
  const { plays, busy, send, sendAgain, stop, clear } = usePlay(organization);
  const talk = useRef<HTMLDivElement>(null);
  useFollow(talk, plays, plays.length);
  const { keys, likeKey, asked } = useAsked(models, search);
  const [first] = asked;
  if (first === undefined) return <NoModels />;
  const images = asked.every(({ capabilities }) => capabilities.includes('vision')) ? attached : [];
  const chats = asked.map((model) => chatFor(model, draft));
  const settings = { system: draft.system, chats, ...present({ likeKey }) };
  const onSubmit = () => {
    const said = text.trim();
    if (busy || said === '' || toolsIn(draft.tools).problem !== undefined) return;
    send(said, images, settings);
    setText('');
    setImages([]);
  };
  const called = plays.at(-1)?.answers.flatMap(({ response }) => response.calls) ?? [];
  return (
    <Form onSubmit={onSubmit}>
      <div className={styles.page}>
        <div className={styles.talk} ref={talk}>
          {plays.length > 0 && (
            <Conversation
              plays={plays}
              onAgain={busy ? undefined : (play, column) => sendAgain(play, column, settings)}
            />
          )}
          <Composer
            busy={busy}
            onStop={stop}
            label={called[0] === undefined ? 'Message' : `Result of ${called[0].function.name}`}
            text={text}
            onText={setText}
            images={images === attached ? images : undefined}
            onImages={setImages}
          />
          <p className="visually-hidden" role="status">
            {busy ? 'The response is arriving.' : plays.length > 0 && 'The response has ended.'}
          </p>
        </div>
        <Side first={first} draft={draft} next={messagesOf(draft.system, plays, { said: text.trim(), images })}>
          {plays.length > 0 && (
            <Button size="small" onClick={clear}>
              New conversation
            </Button>
          )}
          <PlaySettings
            models={models}
            keys={keys ?? []}
            asked={asked}
            likeKey={likeKey}
            draft={draft}
            onDraft={setDraft}
            change={change}
          />
        </Side>
      </div>
    </Form>
  );
}

/** The models and key in the address, as far as they exist. */
function useAsked(models: readonly ModelView[], search: PlaygroundState) {
  const keys = useAsk('GET /api/organizations/:organization/keys').data?.keys;
  // The key in the address may have ended.
  const likeKey = keys === undefined ? search.key : keys.find((key) => key.id === search.key && !hasEnded(key))?.id;
  const find = (id: string | undefined) => models.find((model) => model.id === id);
  const first = find(search.model) ?? cheapest(models) ?? models[0];
  const beside = search.beside === first?.id ? undefined : find(search.beside);
  const asked = [first, beside].filter((model) => model !== undefined);
  return { keys, likeKey, asked };
}

interface SideProps {
  readonly first: ModelView;
  readonly draft: PlayDraft;
  readonly next: PlayChat['messages'];
  readonly children: ReactNode;
}

/** The settings, and code for the next request to the first model, or for the last one. */
function Side({ first, draft, next, children }: SideProps): ReactNode {
  const { apiUrl } = useSession();
  const { model, ...rest } = chatFor(first, draft);
  const shown = next.length === 0 ? {} : { chat: { ...rest, messages: next } };
  return (
    <div className={styles.side}>
      <Card title="Request">{children}</Card>
      <Card title="Code">
        <CodeSnippet snippets={snippets({ apiUrl, secret: KEY_TO_FILL_IN, scopes: ['chat'], model, ...shown })} />
      </Card>
    </div>
  );
}

/** Keeps the end of a growing element in view, until the reader scrolls up. Resumes at the end. */
function useFollow(element: RefObject<HTMLElement | null>, grown: unknown, count: number): void {
  const follows = useRef(true);
  useEffect(() => {
    let lastY = window.scrollY;
    const onScroll = () => {
      const isUp = window.scrollY < lastY;
      lastY = window.scrollY;
      follows.current = below(element.current) <= 1 || (follows.current && !isUp);
    };
    window.addEventListener('scroll', onScroll, { passive: true });
    return () => window.removeEventListener('scroll', onScroll);
  }, [element]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: a message was sent, so the page follows its answers again.
  useLayoutEffect(() => {
    follows.current = true;
  }, [count]);
  // biome-ignore lint/correctness/useExhaustiveDependencies: with `grown` the element becomes higher.
  useLayoutEffect(() => {
    const hidden = below(element.current);
    if (follows.current && count > 0 && hidden > 0) window.scrollBy({ top: hidden, behavior: 'instant' });
  }, [grown, count, element]);
}

/** Number of pixels of the element below the window. */
function below(element: HTMLElement | null): number {
  return element === null ? 0 : Math.ceil(element.getBoundingClientRect().bottom - window.innerHeight);
}
