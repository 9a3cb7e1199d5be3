import { Link, useNavigate } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ModelView } from '#contract/money.ts';
import type { PriceField } from '#core/price-kinds.ts';
import { useAsk } from '../../api/queries.ts';
import { CopyButton } from '../../components/copy.tsx';
import { EmptyState } from '../../components/panels.tsx';
import { Count } from '../../components/values.tsx';
import { formatPricePerMillion } from '../../format/format.ts';
import { OptionalSelect } from '../../forms/choices.tsx';
import { SearchFilter } from '../../forms/filter-bar.tsx';
import { hasEnded, maskedKey } from '../../keys/key-labels.ts';
import { Abilities, ModelState } from '../../models/model-facts.tsx';
import {
  ABILITY_LABELS,
  filterModels,
  hasOtherPrices,
  hasPrice,
  OTHER_PRICES,
  SORTABLE_MODELS,
} from '../../models/model-labels.ts';
import { useUrl } from '../../search/use-url.ts';
import { ListPage } from '../../table/list-page.tsx';
import { tableSorting } from '../../table/sorting.ts';
import { type Column, figureColumn } from '../../table/table.tsx';
import { modelsSearch } from '../searches.ts';

const REFRESH_MS = 30_000;

export function ModelsPage(): ReactNode {
  const url = useUrl(modelsSearch);
  const { search, change } = url;
  const navigate = useNavigate({ from: '/o/$organization' });
  const query = useAsk('GET /api/organizations/:organization/models', {}, { refreshMs: REFRESH_MS });
  const keys = useAsk('GET /api/organizations/:organization/keys').data?.keys;
  const models = query.data?.models;
  const key = keys?.find(({ id }) => id === search.key);
  // Waits for the key. Otherwise a longer list would appear first.
  const isKnown = search.key === undefined || keys !== undefined;
  const offered = (keys ?? []).filter((one) => !hasEnded(one) || one.id === search.key);
  return (
    <ListPage
      title="Models"
      help="api.html#endpoints-for-reading"
      description="Available models. Prices are in USD per million tokens."
      url={url}
      filters={
        <>
          <SearchFilter label="Search models" url={url} />
          <OptionalSelect
            label="Capability"
            none="Any capability"
            value={search.can}
            choices={ABILITY_LABELS}
            onChange={(can) => change({ can })}
          />
          <OptionalSelect
            label="Key"
            none="Any key"
            value={key?.id}
            choices={offered.map((one) => ({ value: one.id, label: `For ${one.name} (${maskedKey(one)})` }))}
            onChange={(next) => change({ key: next })}
          />
        </>
      }
      query={query}
      nouns={['model', 'models']}
      caption="Models"
      columns={COLUMNS}
      sorting={tableSorting(url, SORTABLE_MODELS)}
      onOpen={({ id }) => void navigate({ to: '/o/$organization/model', search: { model: [id] } })}
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

const price = (field: PriceField, header: string, id: string): Column<ModelView> =>
  figureColumn(header, (model) => hasPrice(model, field) && formatPricePerMillion(model.priceTable.prices[field]), {
    id,
  });

const COLUMNS: readonly Column<ModelView>[] = [
  { id: 'name', header: 'Model', width: '44%', cell: (model) => <Named of={model} /> },
  figureColumn('Context', ({ contextWindow }) => <Count value={contextWindow} />, { id: 'context' }),
  figureColumn('Output limit', ({ maxOutputTokens }) => maxOutputTokens > 0 && <Count value={maxOutputTokens} />, {
    id: 'limit',
  }),
  price('inputPicoUsd', 'Input', 'input'),
  price('cachedInputPicoUsd', 'Cached input', 'cached'),
  price('outputPicoUsd', 'Output', 'output'),
];

/** The model's name, which links to its page. */
function Named({ of: model }: { readonly of: ModelView }): ReactNode {
  const { id, state } = model;
  return (
    <div className="stack">
      <span className="row">
        <Link from="/o/$organization" to="/o/$organization/model" search={{ model: [id] }}>
          <code>{id}</code>
        </Link>
        <CopyButton text={id} what={`model id ${id}`} />
      </span>
      <ModelState of={state} />
      <Abilities of={model} />
      {hasOtherPrices(model) && <span className="muted small">{OTHER_PRICES}</span>}
    </div>
  );
}
