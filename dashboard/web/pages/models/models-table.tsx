import { Link } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import type { ModelView } from '#contract/money.ts';
import { useSession } from '../../api/session.ts';
import { Badge, StatusPill } from '../../components/badge.tsx';
import { CopyButton } from '../../components/copy-button.tsx';
import { Count } from '../../components/figures.tsx';
import { capabilityLabel, MODEL_STATES } from '../../models/model-labels.ts';
import { ModelPrices } from '../../models/price-entries.tsx';
import { useOrganization } from '../../shell/use-organization.ts';
import { type Column, Table } from '../../table/table.tsx';
import styles from './models.module.css';

export interface ModelsTableProps {
  /** Absent while loading. */
  readonly models: readonly ModelView[] | undefined;
  readonly empty: ReactNode;
}

export function ModelsTable({ models, empty }: ModelsTableProps): ReactNode {
  return (
    <Table caption="Models" columns={COLUMNS} rows={models} rowKey={({ id }) => id} empty={empty} skeletonRows={6} />
  );
}

const COLUMNS: readonly Column<ModelView>[] = [
  {
    id: 'id',
    header: 'Model',
    width: '22%',
    cell: (model) => (
      <div className={styles.model}>
        <span className={styles.id}>
          <code>{model.id}</code>
          <CopyButton text={model.id} what={`model id ${model.id}`} />
        </span>
        <State of={model} />
        <TryIt of={model} />
      </div>
    ),
  },
  { id: 'abilities', header: 'Capabilities', width: '22%', cell: (model) => <Abilities of={model} /> },
  {
    id: 'tokens',
    header: 'Tokens',
    numeric: true,
    cell: ({ contextWindow, maxOutputTokens, defaultOutputTokens }) => (
      <div className={styles.lines}>
        <span>
          <Count value={contextWindow} /> context
        </span>
        <span>
          <Count value={maxOutputTokens} /> output
        </span>
        {defaultOutputTokens !== maxOutputTokens && (
          <span className="muted" data-hint="Sent when a request gives no limit">
            <Count value={defaultOutputTokens} /> default
          </span>
        )}
      </div>
    ),
  },
  { id: 'prices', header: 'Prices', width: '40%', cell: (model) => <ModelPrices of={model} /> },
];

/** Leads to the playground, if there is one and the model can be used. */
function TryIt({ of: { id, state } }: { readonly of: ModelView }): ReactNode {
  const { playground } = useSession();
  const { id: organization } = useOrganization();
  if (playground === undefined || state !== 'available') return null;
  return (
    <Link
      className={styles.link}
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
    <span className={styles.state}>
      <StatusPill tone={tone}>{text}</StatusPill>
      <span className="muted">{means}</span>
    </span>
  );
}

function Abilities({ of: { capabilities, reasoningEfforts } }: { readonly of: ModelView }): ReactNode {
  if (capabilities.length === 0 && reasoningEfforts.length === 0) return <span className="muted">Text only</span>;
  return (
    <div className={styles.abilities}>
      <span className={styles.badges}>
        {capabilities.map((capability) => (
          <Badge key={capability}>{capabilityLabel(capability)}</Badge>
        ))}
      </span>
      {reasoningEfforts.length > 0 && <span className="muted">Reasoning: {reasoningEfforts.join(', ')}</span>}
    </div>
  );
}
