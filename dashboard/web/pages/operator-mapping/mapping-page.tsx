import type { ReactNode } from 'react';
import { useAsk } from '../../api/use-ask.ts';
import { EmptyState } from '../../components/empty-state.tsx';
import { ErrorState } from '../../components/error-state.tsx';
import { Instant } from '../../components/figures.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import styles from './mapping.module.css';
import { MappingBanners } from './mapping-banners.tsx';
import { MappingModels } from './mapping-models.tsx';
import { MappingProviders } from './mapping-providers.tsx';

const REFRESH_MS = 5_000;

export function MappingPage(): ReactNode {
  const { data, error, refetch } = useAsk('GET /api/mapping', {}, { refreshMs: REFRESH_MS });
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
      {error && !data ? (
        <ErrorState problem={error} onRetry={() => void refetch()} />
      ) : data !== undefined && data.file === undefined ? (
        <EmptyState icon="mapping" title="No gateway process has reported yet">
          The mapping is shown as a running process has loaded it. Start the gateway with this database.
        </EmptyState>
      ) : (
        <>
          {data && <MappingBanners mapping={data} />}
          <section className={styles.section} aria-labelledby="models">
            <h2 id="models">Models</h2>
            <MappingModels models={data?.models} />
          </section>
          <section className={styles.section} aria-labelledby="providers">
            <h2 id="providers">Providers</h2>
            <MappingProviders providers={data?.providers} />
          </section>
        </>
      )}
    </>
  );
}
