import type { ReactNode } from 'react';
import type { MappedModelView } from '../../../contract/operator.ts';
import { Badge, StatusPill } from '../../components/badge.tsx';
import { Count } from '../../components/figures.tsx';
import { EmptyState } from '../../components/states.tsx';
import { formatPricePerMillion } from '../../format/format-money.ts';
import { capabilityLabel } from '../../models/model-labels.ts';
import { type Column, Table } from '../../table/table.tsx';
import styles from './mapping.module.css';

/** Absent while loading. */
export function MappingModels({ models }: { readonly models: readonly MappedModelView[] | undefined }): ReactNode {
  return (
    <Table
      caption="Models and their targets"
      columns={COLUMNS}
      rows={models}
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

const COLUMNS: readonly Column<MappedModelView>[] = [
  {
    id: 'model',
    header: 'Model',
    cell: (model) => (
      <div className={styles.stack}>
        <code>{model.id}</code>
        {model.problem && <span className={styles.problem}>{model.problem}</span>}
      </div>
    ),
  },
  { id: 'state', header: 'State', cell: (model) => <State of={model} /> },
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
  {
    id: 'prices',
    header: 'Price per 1M',
    numeric: true,
    cell: ({ inputPicoUsd, cachedInputPicoUsd, outputPicoUsd }) => (
      <span data-hint="Input / cached input / output">
        {[inputPicoUsd, cachedInputPicoUsd, outputPicoUsd].map(formatPricePerMillion).join(' / ')}
      </span>
    ),
  },
];

function State({ of: { disabled, problem } }: { readonly of: MappedModelView }): ReactNode {
  if (disabled) return <StatusPill tone="neutral">Disabled</StatusPill>;
  return problem === undefined ? (
    <StatusPill tone="good">Available</StatusPill>
  ) : (
    <StatusPill tone="bad">Cannot work</StatusPill>
  );
}
