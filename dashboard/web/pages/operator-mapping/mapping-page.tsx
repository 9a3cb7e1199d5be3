import type { ReactNode } from 'react';
import type { MappingView } from '#contract/operator.ts';
import { useAsk } from '../../api/use-ask.ts';
import { Banner } from '../../components/banner.tsx';
import { Instant } from '../../components/figures.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState, UnlessFailed } from '../../components/states.tsx';
import { CatalogueDifferences } from './catalogue-differences.tsx';
import styles from './mapping.module.css';
import { MappingModels } from './mapping-models.tsx';
import { MappingProviders } from './mapping-providers.tsx';

const REFRESH_MS = 5_000;

export function MappingPage(): ReactNode {
  const mapping = useAsk('GET /api/mapping', {}, { refreshMs: REFRESH_MS });
  const { data } = mapping;
  return (
    <>
      <PageHeader
        title="Model mapping"
        description={
          data?.file === undefined || data.loadedAtMs === undefined ? (
            'Which provider answers for which model, as the gateway has loaded it.'
          ) : (
            <>
              <code>{data.file}</code>, loaded <Instant atMs={data.loadedAtMs} show="relative" />
            </>
          )
        }
      />
      <UnlessFailed query={mapping}>
        {data !== undefined && data.file === undefined ? (
          <EmptyState icon="mapping" title="No gateway process has reported yet">
            The mapping is shown as a running process has loaded it. Start the gateway with this database.
          </EmptyState>
        ) : (
          <>
            {data && <MappingBanners mapping={data} />}
            <section className={styles.section} aria-labelledby="models">
              <h2 id="models">Models</h2>
              <MappingModels models={data?.models} differences={data?.catalogue.differences ?? []} />
            </section>
            <section className={styles.section} aria-labelledby="catalogue">
              <h2 id="catalogue">Model catalogue</h2>
              <CatalogueDifferences of={data?.catalogue} />
            </section>
            <section className={styles.section} aria-labelledby="providers">
              <h2 id="providers">Providers</h2>
              <MappingProviders providers={data?.providers} />
            </section>
          </>
        )}
      </UnlessFailed>
    </>
  );
}

/** Problems of the configuration file and the mapping. */
export function MappingBanners({
  mapping: { problems, warnings, restartNeeded, processesBehind },
}: {
  readonly mapping: MappingView;
}): ReactNode {
  return (
    <>
      {problems.length > 0 && (
        <Banner tone="bad" title="The file was changed and is refused: the mapping before it stays in force">
          <Lines of={problems} />
        </Banner>
      )}
      {processesBehind > 0 && (
        <Banner
          tone="warn"
          title={`${processesBehind} ${processesBehind === 1 ? 'process has' : 'processes have'} another mapping`}
        >
          A moment after a change that is as it should be. If it stays, the file on that host differs, or is refused
          there.
        </Banner>
      )}
      {restartNeeded.length > 0 && (
        <Banner tone="warn" title="Some changes wait for a restart">
          {restartNeeded.map((field, index) => (
            <span key={field}>
              {index > 0 && ', '}
              <code>{field}</code>
            </span>
          ))}
        </Banner>
      )}
      {warnings.length > 0 && (
        <Banner tone="warn" title="Some models or providers cannot work">
          <Lines of={warnings} />
        </Banner>
      )}
    </>
  );
}

function Lines({ of: lines }: { readonly of: readonly string[] }): ReactNode {
  return (
    <ul className={styles.lines}>
      {lines.map((line) => (
        <li key={line}>
          <code>{line}</code>
        </li>
      ))}
    </ul>
  );
}
