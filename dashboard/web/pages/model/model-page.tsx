import { useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { exploreSearchOfOne, RANGES, type Range, requestsIn } from '#contract/explore-search.ts';
import type { ModelView } from '#contract/money.ts';
import { useAsk } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { LinkButton } from '../../components/button.tsx';
import { CodeSnippet, CopyButton } from '../../components/copy.tsx';
import { Card, EmptyState, Loaded, PageHeader, Skeleton } from '../../components/panels.tsx';
import { CodeLines, Facts } from '../../components/values.tsx';
import { KEY_TO_FILL_IN, snippets } from '../../connect/snippets.ts';
import { Explorer } from '../../explore/explorer.tsx';
import { useExplore } from '../../explore/use-explore.ts';
import { formatCount } from '../../format/format.ts';
import { type Choice, SegmentedControl } from '../../forms/choices.tsx';
import { Abilities, ModelState } from '../../models/model-facts.tsx';
import { chats } from '../../models/model-labels.ts';
import { ModelPrices } from '../../models/price-entries.tsx';
import { useUrl } from '../../search/use-url.ts';
import { useOrganization } from '../../shell/use-organization.tsx';
import styles from './model.module.css';

const REFRESH_MS = 30_000;

/** Prices, limits, code and figures of the model that the address has as a filter. */
export function ModelPage(): ReactNode {
  const { playground } = useSession();
  const [id = ''] = useUrl(exploreSearchOfOne).search.model ?? [];
  const query = useAsk('GET /api/organizations/:organization/models', {}, { refreshMs: REFRESH_MS });
  const model = query.data?.models.find((one) => one.id === id);
  // The button is shown before the model is loaded, so that nothing moves.
  const isPlayable = playground && (query.data === undefined || (model?.state === 'available' && chats(model)));
  return (
    <>
      <PageHeader
        title={id}
        description={model && <ModelState of={model.state} />}
        actions={
          <>
            <CopyButton text={id} what="model id" />
            {isPlayable && (
              <LinkButton
                tone="primary"
                icon="play"
                from="/o/$organization"
                to="/o/$organization/playground"
                search={{ model: id }}
              >
                Open in the playground
              </LinkButton>
            )}
          </>
        }
      />
      <Loaded query={query} skeleton={<Skeleton height="1400px" />}>
        {() => (
          <>
            {model ? <OneModel key={id} model={model} /> : <NoSuchModel />}
            <OwnFigures key={id} />
          </>
        )}
      </Loaded>
    </>
  );
}

function NoSuchModel(): ReactNode {
  return (
    <EmptyState
      icon="models"
      title="The gateway has no such model"
      action={
        <LinkButton from="/o/$organization" to="/o/$organization/models">
          All models
        </LinkButton>
      }
    >
      It may have existed when earlier requests were sent.
    </EmptyState>
  );
}

function OneModel({ model }: { readonly model: ModelView }): ReactNode {
  const { apiUrl, apis } = useSession();
  const { id, contextWindow, maxOutputTokens, defaultOutputTokens, takesTemperature } = model;
  const doors = chats(model) ? ['chat/completions', ...apis.filter((api) => api !== 'embeddings')] : ['embeddings'];
  return (
    <>
      <div className={styles.columns}>
        <Card title="Prices">
          <p className="muted small">In USD per million tokens.</p>
          <ModelPrices of={model} />
        </Card>
        <Card title="Limits and features">
          <Facts
            of={{
              'Context window': `${formatCount(contextWindow)} tokens`,
              'Output limit': maxOutputTokens > 0 && (
                <>
                  {formatCount(maxOutputTokens)} tokens
                  {defaultOutputTokens !== maxOutputTokens && (
                    <div className="muted">{formatCount(defaultOutputTokens)} if a request gives none</div>
                  )}
                </>
              ),
              Features: <Abilities of={model} />,
              Temperature: !takesTemperature && 'Left out, because the model does not accept it.',
              Endpoints: <CodeLines of={doors.map((door) => `POST /v1/${door}`)} />,
            }}
          />
        </Card>
      </div>
      <Card
        title="Code"
        actions={
          chats(model) && (
            <LinkButton size="small" from="/o/$organization" to="/o/$organization/connect" search={{ model: id }}>
              More clients
            </LinkButton>
          )
        }
      >
        <CodeSnippet
          snippets={snippets({ apiUrl, secret: KEY_TO_FILL_IN, scopes: ['chat'], model: id, embeds: !chats(model) })}
        />
      </Card>
    </>
  );
}

const USUAL_RANGE: Range = '24h';
const SHOWN_RANGES = (['1h', '6h', '24h'] as const).map((value): Choice<Range> => ({ value, label: RANGES[value] }));

function OwnFigures(): ReactNode {
  const { name } = useOrganization();
  const url = useUrl(exploreSearchOfOne);
  const navigate = useNavigate();
  const search = { ...url.search, range: url.search.range ?? USUAL_RANGE };
  const query = useExplore(search, 'none', 'p95');
  const requests = { from: '/o/$organization', to: '/o/$organization/requests' } as const;
  return (
    <>
      <div className={styles.head}>
        <h2>Requests of {name}</h2>
        <SegmentedControl
          label="Time"
          value={search.range}
          onChange={(range) => url.change({ range })}
          choices={SHOWN_RANGES}
        />
        <LinkButton size="small" icon="requests" {...requests} search={search}>
          Show requests
        </LinkButton>
      </div>
      <Explorer
        query={query}
        url={url}
        usual="p95"
        onSpan={(span) => void navigate({ ...requests, search: requestsIn(search, span) })}
      />
    </>
  );
}
