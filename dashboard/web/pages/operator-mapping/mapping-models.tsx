import type { ReactNode } from 'react';
import type { CatalogueDifference, MappedModelView } from '#contract/operator.ts';
import { Badge, StatusPill } from '../../components/badge.tsx';
import { Count } from '../../components/figures.tsx';
import { EmptyState } from '../../components/states.tsx';
import { formatUtcDay, utcDay } from '../../format/format-instant.ts';
import { capabilityLabel } from '../../models/model-labels.ts';
import { ModelPrices } from '../../models/price-entries.tsx';
import { type Column, Table } from '../../table/table.tsx';
import { SHUTDOWN } from './difference-label.ts';
import styles from './mapping.module.css';

export interface MappingModelsProps {
  /** Absent while loading. */
  readonly models: readonly MappedModelView[] | undefined;
  readonly differences: readonly CatalogueDifference[];
}

interface ModelRow extends MappedModelView {
  readonly differences: readonly CatalogueDifference[];
}

export function MappingModels({ models, differences }: MappingModelsProps): ReactNode {
  const rows = models?.map((model) => ({
    ...model,
    differences: differences.filter((difference) => difference.model === model.id),
  }));
  return (
    <Table
      caption="Models and their targets"
      columns={COLUMNS}
      rows={rows}
      rowKey={({ id }) => id}
      skeletonRows={5}
      empty={
        <EmptyState icon="models" title="The configuration has no models">
          Declare them under models in the file.
        </EmptyState>
      }
    />
  );
}

const COLUMNS: readonly Column<ModelRow>[] = [
  {
    id: 'model',
    header: 'Model',
    width: '22%',
    cell: (model) => (
      <div className={styles.stack}>
        <code>{model.id}</code>
        <State of={model} />
        <Drift of={model} />
        {model.problem && <span className={styles.problem}>{model.problem}</span>}
      </div>
    ),
  },
  {
    id: 'targets',
    header: 'Targets, in order',
    cell: ({ targets }) =>
      targets.length === 0 ? (
        <span className="muted">None</span>
      ) : (
        <ol className={styles.targets}>
          {targets.map(({ provider, model }) => (
            <li key={`${provider} ${model}`}>
              {provider} <span className="muted">{model}</span>
            </li>
          ))}
        </ol>
      ),
  },
  {
    id: 'capabilities',
    header: 'Capabilities',
    hideBelow: 'wide',
    cell: ({ capabilities }) =>
      capabilities.length === 0 ? (
        <span className="muted">Text only</span>
      ) : (
        <span className={styles.badges}>
          {capabilities.map((capability) => (
            <Badge key={capability}>{capabilityLabel(capability)}</Badge>
          ))}
        </span>
      ),
  },
  {
    id: 'window',
    header: 'Context / output',
    numeric: true,
    cell: ({ contextWindow, maxOutputTokens }) => (
      <span>
        <Count value={contextWindow} /> / <Count value={maxOutputTokens} />
      </span>
    ),
  },
  { id: 'prices', header: 'Prices per 1M', width: '38%', cell: (model) => <ModelPrices of={model} /> },
];

function State({ of: { disabled, problem } }: { readonly of: MappedModelView }): ReactNode {
  if (disabled) return <StatusPill tone="neutral">Disabled</StatusPill>;
  return problem === undefined ? (
    <StatusPill tone="good">Available</StatusPill>
  ) : (
    <StatusPill tone="bad">Cannot work</StatusPill>
  );
}

/** A shutdown, or that the model catalogue has other values. The table below has each of them. */
function Drift({ of: { differences } }: { readonly of: ModelRow }): ReactNode {
  const shutdown = differences.find(({ field }) => field === SHUTDOWN)?.catalogue;
  if (shutdown !== undefined) {
    const day = String(shutdown);
    const isOver = day <= utcDay(Date.now());
    return (
      <StatusPill tone={isOver ? 'bad' : 'warn'}>
        {isOver ? 'Shut down' : 'Shuts down'} {formatUtcDay(day)}
      </StatusPill>
    );
  }
  return differences.length > 0 && <StatusPill tone="warn">Differs from catalogue</StatusPill>;
}
