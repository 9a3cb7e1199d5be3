import type { ReactNode } from 'react';
import type { CatalogueComparison, MappedModelView } from '#contract/operator.ts';
import type { Difference, Dispute } from '#core/model-catalogue/comparison.ts';
import { serverMs } from '../../api/server-clock.ts';
import { EmptyState } from '../../components/panels.tsx';
import { Count, Detailed, StatusPill } from '../../components/values.tsx';
import { formatUtcDay, utcDay } from '../../format/format.ts';
import { FilterBar, SearchFilter } from '../../forms/filter-bar.tsx';
import { Abilities } from '../../models/model-facts.tsx';
import { findModels } from '../../models/model-labels.ts';
import { FoldedPrices } from '../../models/price-entries.tsx';
import { useUrl } from '../../search/use-url.ts';
import { type Column, figureColumn, Table } from '../../table/table.tsx';
import { mappingSearch } from '../searches.ts';
import { differenceLabel, differenceValue, disputeLabel, SHUTDOWN } from './mapping-labels.ts';

interface MappingModelsProps {
  readonly models: readonly MappedModelView[];
  readonly differences: readonly Difference[];
}

interface ModelRow extends MappedModelView {
  readonly differences: readonly Difference[];
}

export function MappingModels({ models, differences }: MappingModelsProps): ReactNode {
  const url = useUrl(mappingSearch);
  const rows = findModels(models, url.search.search).map((model) => ({
    ...model,
    differences: differences.filter((difference) => difference.model === model.id),
  }));
  return (
    <>
      <FilterBar url={url}>
        <SearchFilter label="Search models" url={url} />
      </FilterBar>
      <Table
        caption="Models and their targets"
        columns={COLUMNS}
        rows={rows}
        empty={
          <EmptyState icon="models" title={url.isFiltered ? 'No matching model' : 'The configuration has no models'}>
            {!url.isFiltered && 'Add them under models in the configuration file.'}
          </EmptyState>
        }
      />
    </>
  );
}

const COLUMNS: readonly Column<ModelRow>[] = [
  {
    header: 'Model',
    width: '22%',
    cell: (model) => (
      <div className="stack">
        <code>{model.id}</code>
        <State of={model} />
        <Drift of={model} />
        {model.problem && <span className="bad small prose">{model.problem}</span>}
      </div>
    ),
  },
  {
    header: 'Usable targets, in order',
    cell: ({ targets }) =>
      targets.length === 0 ? (
        <span className="muted">None</span>
      ) : (
        <ol>
          {targets.map(({ provider, model, weight }) => (
            <li key={`${provider} ${model}`}>
              {provider} <span className="muted">{model}</span> {weight !== undefined && `weight ${weight}`}
            </li>
          ))}
        </ol>
      ),
  },
  { header: 'Capabilities', hideBelow: 'wide', cell: ({ capabilities }) => <Abilities of={{ capabilities }} /> },
  figureColumn('Context / output', ({ contextWindow, maxOutputTokens }) => (
    <span>
      <Count value={contextWindow} />
      {maxOutputTokens > 0 && (
        <>
          {' / '}
          <Count value={maxOutputTokens} />
        </>
      )}
    </span>
  )),
  { header: 'Prices per 1M', width: '38%', cell: (model) => <FoldedPrices of={model} /> },
];

function State({ of: { disabled, problem } }: { readonly of: MappedModelView }): ReactNode {
  if (disabled) return <StatusPill tone="neutral">Disabled</StatusPill>;
  return problem === undefined ? (
    <StatusPill tone="good">Available</StatusPill>
  ) : (
    <StatusPill tone="bad">Not working</StatusPill>
  );
}

/** Announces a shutdown, or values that differ in the model catalogue and are listed below. */
function Drift({ of: { differences } }: { readonly of: ModelRow }): ReactNode {
  const shutdown = differences.find(({ field }) => field === SHUTDOWN)?.catalogue;
  if (shutdown !== undefined) {
    const day = String(shutdown);
    const isOver = day <= utcDay(serverMs());
    return (
      <StatusPill tone={isOver ? 'bad' : 'warn'}>
        {isOver ? 'Shut down' : 'Shuts down'} {formatUtcDay(day)}
      </StatusPill>
    );
  }
  return differences.length > 0 && <StatusPill tone="warn">Differs from catalogue</StatusPill>;
}

export function CatalogueDifferences({ of: catalogue }: { readonly of: CatalogueComparison }): ReactNode {
  return (
    <>
      <p className="muted">
        What differs from the providers' own prices and limits on {formatUtcDay(catalogue.asOf)}, price changes within
        30 days, and shutdowns within 60 days. Prices are per 1M tokens. Nothing changes until you change the file.
      </p>
      <Table
        caption="Differences from the model catalogue"
        columns={DIFFERENCES}
        rows={catalogue.differences}
        rowKey={(row) => JSON.stringify(row)}
        empty={
          <EmptyState icon="check" title="No differences">
            Only models in the catalogue are compared.
          </EmptyState>
        }
      />
      {catalogue.disputed.length > 0 && (
        <>
          <p className="muted">
            The catalogue has two sources, which disagree about these prices. Check the provider's price page.
          </p>
          <Table
            caption="Disputed prices"
            columns={DISPUTES}
            rows={catalogue.disputed}
            rowKey={(row) => JSON.stringify(row)}
            empty={null}
          />
        </>
      )}
    </>
  );
}

const DIFFERENCES: readonly Column<Difference>[] = [
  { header: 'Model', cell: ({ model }) => <code>{model}</code> },
  {
    header: 'Difference',
    cell: (row) => {
      const { what, entry } = differenceLabel(row);
      return <Detailed detail={entry}>{what}</Detailed>;
    },
  },
  figureColumn('Configured', ({ field, configured }) => differenceValue(field, configured)),
  figureColumn('Catalogue', ({ field, catalogue }) => differenceValue(field, catalogue)),
];

const DISPUTES: readonly Column<Dispute>[] = [
  { header: 'Model', cell: ({ model }) => <code>{model}</code> },
  { header: 'Price', cell: ({ field }) => disputeLabel(field) },
  figureColumn('Catalogue', ({ field, catalogue }) => differenceValue(field, catalogue)),
  figureColumn('Other source', ({ field, other }) => differenceValue(field, other)),
];
