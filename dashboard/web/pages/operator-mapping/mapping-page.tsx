import type { ReactNode } from 'react';
import type { MappingView, ProviderView } from '#contract/operator.ts';
import { countOf } from '#core/count-of.ts';
import { useAsk } from '../../api/queries.ts';
import { Banner, EmptyState, Loaded, PageHeader, Skeleton } from '../../components/panels.tsx';
import { CodeLines, Detailed, Instant, Muted, StatusPill } from '../../components/values.tsx';
import { type Column, Table } from '../../table/table.tsx';
import { failureLabel, healthOf } from './mapping-labels.ts';
import { CatalogueDifferences, MappingModels } from './mapping-models.tsx';

const REFRESH_MS = 5_000;

export function MappingPage(): ReactNode {
  const mapping = useAsk('GET /api/mapping', {}, { refreshMs: REFRESH_MS });
  const { file, loadedAtMs } = mapping.data ?? {};
  return (
    <>
      <PageHeader
        title="Model mapping"
        help="operating.html#models-and-their-prices"
        description={
          file === undefined || loadedAtMs === undefined ? (
            'Which provider serves which model.'
          ) : (
            <>
              <code>{file}</code>, loaded <Instant atMs={loadedAtMs} show="relative" />
            </>
          )
        }
      />
      <Loaded query={mapping} skeleton={<Skeleton height="600px" />}>
        {(data) =>
          data.file === undefined ? (
            <EmptyState icon="mapping" title="No gateway process is reporting">
              Start the gateway with this database to see its mapping.
            </EmptyState>
          ) : (
            <Mapping mapping={data} />
          )
        }
      </Loaded>
    </>
  );
}

function Mapping({ mapping }: { readonly mapping: MappingView }): ReactNode {
  const { models, catalogue, providers } = mapping;
  return (
    <>
      <MappingBanners mapping={mapping} />
      <section className="section" aria-labelledby="providers">
        <h2 id="providers">Providers</h2>
        <Table
          caption="Providers"
          columns={COLUMNS}
          rows={providers}
          rowKey={({ name }) => name}
          empty={
            <EmptyState icon="mapping" title="The configuration has no providers">
              Add them under providers in the configuration file.
            </EmptyState>
          }
        />
      </section>
      <section className="section" aria-labelledby="models">
        <h2 id="models">Models</h2>
        <MappingModels models={models} differences={catalogue.differences} />
      </section>
      <section className="section" aria-labelledby="catalogue">
        <h2 id="catalogue">Model catalogue</h2>
        <CatalogueDifferences of={catalogue} />
      </section>
    </>
  );
}

function MappingBanners({ mapping }: { readonly mapping: MappingView }): ReactNode {
  const { problems, warnings, restartNeeded, processesBehind } = mapping;
  return (
    <>
      {problems.length > 0 && (
        <Banner tone="bad" title="The changed file is not in force. The previous mapping stays in use.">
          <CodeLines of={problems} />
        </Banner>
      )}
      {processesBehind > 0 && (
        <Banner tone="warn" title={`${countOf(processesBehind, 'process has', 'processes have')} another mapping`}>
          This is normal right after a change. If it lasts, the file on that host differs or has errors.
        </Banner>
      )}
      {restartNeeded.length > 0 && (
        <Banner tone="warn" title="Some changes need a restart">
          {restartNeeded.map((field, index) => (
            <span key={field}>
              {index > 0 && ', '}
              <code>{field}</code>
            </span>
          ))}
        </Banner>
      )}
      {warnings.length > 0 && (
        <Banner tone="warn" title="The configuration has warnings">
          <CodeLines of={warnings} />
        </Banner>
      )}
    </>
  );
}

const COLUMNS: readonly Column<ProviderView>[] = [
  {
    header: 'Provider',
    cell: ({ name, host }) => (
      <div className="stack">
        <strong>{name}</strong>
        <span className="muted">{host}</span>
      </div>
    ),
  },
  {
    header: 'API key',
    // Shows `Sent` even if the named key is missing, because a banner reports that.
    cell: ({ hasKey }) => (hasKey ? 'Sent' : <Muted>Not sent</Muted>),
  },
  {
    header: 'Last 5 minutes',
    cell: (provider) => {
      const { tone, state, detail } = healthOf(provider);
      return (
        <Detailed detail={detail}>
          <StatusPill tone={tone}>{state}</StatusPill>
        </Detailed>
      );
    },
  },
  {
    header: 'Last failure',
    cell: ({ lastFailure }) =>
      lastFailure === undefined ? (
        <Muted>None</Muted>
      ) : (
        <Detailed detail={<Instant atMs={lastFailure.atMs} show="relative" />}>
          {failureLabel(lastFailure.result)}
        </Detailed>
      ),
  },
  {
    header: 'When a client disconnects',
    hideBelow: 'medium',
    cell: ({ onDisconnect }) =>
      onDisconnect === 'drain' ? 'Reads to the end' : onDisconnect === 'abort' ? 'Stops' : 'Model setting',
  },
];
