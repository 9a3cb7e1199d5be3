import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ModelView } from '#contract/money.ts';
import { useAsk } from '../../api/queries.ts';
import { useSession } from '../../api/session.ts';
import { CopyButton } from '../../components/copy.tsx';
import { EmptyState } from '../../components/panels.tsx';
import { Badge, Count, StatusPill } from '../../components/values.tsx';
import { FilterSelect } from '../../forms/choices.tsx';
import { hasEnded, maskedKey } from '../../keys/key-labels.ts';
import { ABILITY_LABELS, capabilityLabel, chats, filterModels, MODEL_STATES } from '../../models/model-labels.ts';
import { ModelPrices } from '../../models/price-entries.tsx';
import { SearchFilter, withChosen } from '../../search/filters.tsx';
import { useUrl } from '../../search/use-url.ts';
import { useOrganization } from '../../shell/use-organization.tsx';
import { ListPage } from '../../table/list-page.tsx';
import type { Column } from '../../table/table.tsx';
import { modelsSearch } from '../searches.ts';

const REFRESH_MS = 30_000;

export function ModelsPage(): ReactNode {
  const { id: organization } = useOrganization();
  const url = useUrl(modelsSearch);
  const { search, change } = url;
  const params = { organization };
  const query = useAsk('GET /api/organizations/:organization/models', { params }, { refreshMs: REFRESH_MS });
  const keys = useAsk('GET /api/organizations/:organization/keys', { params }).data?.keys;
  const models = query.data?.models;
  const key = keys?.find(({ id }) => id === search.key);
  // Waits for the key: a longer list would flash up otherwise.
  const isKnown = search.key === undefined || keys !== undefined;
  const offered = (keys ?? []).filter((one) => !hasEnded(one) || one.id === search.key);
  return (
    <ListPage
      title="Models"
      description="Available models. Prices are in USD per million tokens."
      url={url}
      filters={
        <>
          <SearchFilter label="Search models" url={url} />
          <FilterSelect
            label="Capability"
            all="Any capability"
            value={search.can}
            choices={ABILITY_LABELS}
            onChange={(can) => change({ can })}
          />
          <FilterSelect
            label="Key"
            all="Any key"
            value={search.key}
            choices={withChosen(
              offered.map((one) => ({ value: one.id, label: `For ${one.name} (${maskedKey(one)})` })),
              search.key,
              'An unknown key',
            )}
            onChange={(next) => change({ key: next })}
          />
        </>
      }
      query={query}
      nouns={['model', 'models']}
      caption="Models"
      columns={COLUMNS}
      rows={isKnown ? models && filterModels(models, search, key) : undefined}
      skeletonRows={6}
      empty={
        <EmptyState icon="models" title="No models yet">
          The gateway has not reported its models yet. It does so within seconds of its start.
        </EmptyState>
      }
    />
  );
}

const COLUMNS: readonly Column<ModelView>[] = [
  {
    header: 'Model',
    width: '22%',
    cell: (model) => (
      <div className="stack">
        <span className="row">
          <code>{model.id}</code>
          <CopyButton text={model.id} what={`model id ${model.id}`} />
        </span>
        <State of={model} />
        <TryIt of={model} />
      </div>
    ),
  },
  { header: 'Capabilities', width: '22%', cell: (model) => <Abilities of={model} /> },
  {
    header: 'Tokens',
    numeric: true,
    cell: ({ contextWindow, maxOutputTokens, defaultOutputTokens }) => (
      <div className="stack nowrap">
        <span>
          <Count value={contextWindow} /> context
        </span>
        {maxOutputTokens > 0 && (
          <span>
            <Count value={maxOutputTokens} /> output
          </span>
        )}
        {defaultOutputTokens !== maxOutputTokens && (
          <span className="muted" data-hint="Sent when a request gives no limit">
            <Count value={defaultOutputTokens} /> default
          </span>
        )}
      </div>
    ),
  },
  { header: 'Prices', width: '40%', cell: (model) => <ModelPrices of={model} /> },
];

/** Leads to the playground, if there is one and the model can be used. */
function TryIt({ of: model }: { readonly of: ModelView }): ReactNode {
  const { id, state } = model;
  const { playground } = useSession();
  const { id: organization } = useOrganization();
  if (playground === undefined || state !== 'available' || !chats(model)) return null;
  return (
    <Link
      className="small"
      to="/o/$organization/playground"
      params={{ organization }}
      search={{ model: id }}
      aria-label={`Try it: ${id}`}
    >
      Try it
    </Link>
  );
}

/** Shows nothing for available models. */
function State({ of: { state } }: { readonly of: ModelView }): ReactNode {
  const { tone, text, means } = MODEL_STATES[state];
  if (state === 'available') return null;
  return (
    <span className="row small">
      <StatusPill tone={tone}>{text}</StatusPill>
      <span className="muted">{means}</span>
    </span>
  );
}

function Abilities({ of: { capabilities, reasoningEfforts } }: { readonly of: ModelView }): ReactNode {
  if (capabilities.length === 0 && reasoningEfforts.length === 0) return <span className="muted">Text only</span>;
  return (
    <div className="stack">
      <span className="badges">
        {capabilities.map((capability) => (
          <Badge key={capability}>{capabilityLabel(capability)}</Badge>
        ))}
      </span>
      {reasoningEfforts.length > 0 && <span className="muted">Reasoning: {reasoningEfforts.join(', ')}</span>}
    </div>
  );
}
