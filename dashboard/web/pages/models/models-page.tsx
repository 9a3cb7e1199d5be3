import { useNavigate, useSearch } from '@tanstack/react-router';
import type { ReactNode } from 'react';
import { useAsk } from '../../api/use-ask.ts';
import { Button } from '../../components/button.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { EmptyState, UnlessFailed } from '../../components/states.tsx';
import { filterModels } from '../../models/filter-models.ts';
import { useOrganization } from '../../shell/use-organization.ts';
import { ModelsFilter } from './models-filter.tsx';
import { ModelsTable } from './models-table.tsx';
import type { ModelsUrlState } from './models-url.ts';

const REFRESH_MS = 30_000;

export function ModelsPage(): ReactNode {
  const { id: organization } = useOrganization();
  const search = useSearch({ from: '/app/o/$organization/models' });
  const navigate = useNavigate({ from: '/o/$organization/models' });
  const params = { organization };
  const query = useAsk('GET /api/organizations/:organization/models', { params }, { refreshMs: REFRESH_MS });
  const keys = useAsk('GET /api/organizations/:organization/keys', { params }).data?.keys;
  const models = query.data?.models;
  const key = keys?.find(({ id }) => id === search.key);
  // Waits for the key: a longer list would flash up otherwise.
  const shown =
    search.key !== undefined && keys === undefined ? undefined : models && filterModels(models, search, key);
  const onChange = (next: ModelsUrlState) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace: true, resetScroll: false });
  return (
    <>
      <PageHeader title="Models" description="Available models. Prices are in USD per million tokens." />
      <ModelsFilter search={search} keys={keys ?? []} shown={shown?.length} onChange={onChange} />
      <UnlessFailed query={query}>
        <ModelsTable
          models={shown}
          empty={
            models?.length === 0 ? (
              <EmptyState icon="models" title="No models yet">
                The gateway has not reported its models yet. It does so within seconds of its start.
              </EmptyState>
            ) : (
              <EmptyState
                icon="search"
                title="No matching model"
                action={
                  <Button onClick={() => onChange({ search: undefined, can: undefined, key: undefined })}>
                    Clear the filter
                  </Button>
                }
              />
            )
          }
        />
      </UnlessFailed>
    </>
  );
}
