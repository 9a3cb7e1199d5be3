import { type ReactNode, useMemo, useState } from 'react';
import type { ModelView } from '#contract/money.ts';
import type { OrganizationView } from '#contract/organization.ts';
import { Card } from '../../components/card.tsx';
import { Count, Money } from '../../components/figures.tsx';
import { formatCount } from '../../format/format-number.ts';
import { availableNanoUsd } from '../../organizations/balance-warning.ts';
import { LoadMore } from '../../table/load-more.tsx';
import { type Column, Table } from '../../table/table.tsx';
import styles from './affordable-card.module.css';
import { type AffordableOutput, SMALL_INPUT_TOKENS, shortenedOutputs } from './affordable-outputs.ts';

const FIRST_ROWS = 5;

export interface AffordableCardProps {
  readonly organization: OrganizationView;
  readonly models: readonly ModelView[];
}

/** Says before a request is refused with 402 what the available amount pays for. */
export function AffordableCard({ organization, models }: AffordableCardProps): ReactNode {
  const [showsAll, setShowsAll] = useState(false);
  const available = availableNanoUsd(organization);
  const { maxTokens } = organization.limits;
  const outputs = useMemo(() => shortenedOutputs(models, available, maxTokens), [models, available, maxTokens]);
  const rows = showsAll ? outputs : outputs.slice(0, FIRST_ROWS);
  return (
    <Card title="What the balance pays for">
      <p className={styles.words}>
        A request is admitted if the available amount covers the most that it can cost: its input at the highest price
        for input, and the whole output limit. A request of {formatCount(SMALL_INPUT_TOKENS)} input tokens may have{' '}
        {outputs.length === 0 ? 'the longest output of every model.' : 'these output limits:'}
      </p>
      {outputs.length > 0 && (
        <>
          <Table
            caption="Output limits that the balance pays for"
            columns={COLUMNS}
            rows={rows}
            rowKey={({ model }) => model}
            empty={null}
          />
          {rows.length < outputs.length && (
            <LoadMore
              hasMore
              busy={false}
              onLoad={() => setShowsAll(true)}
              label="Show all"
              shown={`${formatCount(rows.length)} of ${formatCount(outputs.length)} models`}
            />
          )}
          <p className={styles.words}>
            A larger limit is refused with <code>insufficient_credits</code>. Its{' '}
            <code>metadata.affordable_output_tokens</code> is the limit for that very request. A request without a limit
            gets one that the balance pays for, if that is long enough to be useful. Where the tokenizer of a model is
            unknown, each byte of the input counts as a token.
          </p>
        </>
      )}
    </Card>
  );
}

const COLUMNS: readonly Column<AffordableOutput>[] = [
  { id: 'model', header: 'Model', cell: ({ model }) => <code>{model}</code> },
  {
    id: 'output',
    header: 'Largest output limit',
    numeric: true,
    cell: ({ outputTokens }) => (outputTokens === 0 ? <span className="muted">None</span> : formatCount(outputTokens)),
  },
  {
    id: 'most',
    header: 'Model allows',
    numeric: true,
    cell: ({ mostOutputTokens }) => <Count value={mostOutputTokens} />,
  },
  {
    id: 'needed',
    header: 'That would need',
    numeric: true,
    cell: ({ neededNanoUsd }) => <Money nanoUsd={neededNanoUsd} />,
  },
];
