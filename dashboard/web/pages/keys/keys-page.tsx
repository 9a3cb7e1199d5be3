import { useNavigate, useSearch } from '@tanstack/react-router';
import { type ReactNode, type RefObject, useRef, useState } from 'react';
import { useAsk } from '../../api/use-ask.ts';
import { Banner } from '../../components/banner.tsx';
import { Button } from '../../components/button.tsx';
import { PageHeader } from '../../components/page-header.tsx';
import { UnlessFailed } from '../../components/states.tsx';
import { useOrganization } from '../../shell/use-organization.ts';
import { LoadMore, useFirstRows } from '../../table/load-more.tsx';
import { ExpiryBanner } from './expiry-banner.tsx';
import { filterKeys } from './filter-keys.ts';
import { KeyOverlays } from './key-overlays.tsx';
import { isSelectable } from './key-selection.ts';
import { KeySelectionBar } from './key-selection-bar.tsx';
import type { KeyAction } from './key-status.ts';
import { KeysFilter, NoKeys } from './keys-filter.tsx';
import { KeysTable } from './keys-table.tsx';
import type { KeysUrlState } from './keys-url.ts';
import { useKeySelection } from './use-key-selection.ts';

const REFRESH_MS = 15_000;

export function KeysPage(): ReactNode {
  const { id: organization, suspended } = useOrganization();
  const { search, go, onChange, onCreate } = useKeysUrl();
  const [action, setAction] = useState<KeyAction>();
  const createButton = useRef<HTMLButtonElement>(null);
  const selection = useKeySelection();
  const asked = { params: { organization } };
  const query = useAsk('GET /api/organizations/:organization/keys', asked, { refreshMs: REFRESH_MS });
  const keys = query.data?.keys;
  const filtered = keys && filterKeys(keys, search, Date.now());
  const { first, hasMore, showMore } = useFirstRows(filtered?.shown);
  return (
    <>
      <KeysHeader
        canSelect={keys?.some(isSelectable) === true && selection.ids === undefined}
        onSelect={() => selection.select([])}
        createButton={createButton}
        onCreate={onCreate}
        suspended={suspended}
      />
      <ExpiryBanner
        keys={keys ?? []}
        onAct={setAction}
        onShow={search.show === 'expiring' ? undefined : () => onChange({ show: 'expiring', search: undefined })}
      />
      <KeysFilter organization={organization} search={search} counts={filtered?.counts} onChange={onChange} />
      {keys && filtered && (
        <KeySelectionBar
          organization={organization}
          keys={keys}
          shown={filtered.shown}
          selection={selection}
          afterwards={createButton}
        />
      )}
      <UnlessFailed query={query}>
        <KeysTable
          keys={first}
          openKey={search.key}
          onOpen={({ id }) => go({ key: id }, false)}
          onAct={setAction}
          selection={selection}
          empty={
            filtered && (
              <NoKeys
                search={search}
                counts={filtered.counts}
                total={keys.length}
                onChange={onChange}
                onCreate={onCreate}
              />
            )
          }
        />
      </UnlessFailed>
      {hasMore && (
        <LoadMore hasMore busy={false} onLoad={showMore} shown={`${first?.length} of ${filtered?.shown.length} keys`} />
      )}
      <KeyOverlays
        organization={organization}
        keys={keys}
        search={search}
        onChange={onChange}
        action={action}
        onAct={setAction}
        createButton={createButton}
      />
    </>
  );
}

/** State of the page in its address, and how to change it. */
function useKeysUrl() {
  const search = useSearch({ from: '/app/o/$organization/keys' });
  const navigate = useNavigate({ from: '/o/$organization/keys' });
  const go = (next: Partial<KeysUrlState>, replace: boolean) =>
    void navigate({ search: (before) => ({ ...before, ...next }), replace, resetScroll: false });
  const onChange = (next: Partial<KeysUrlState>) => go(next, true);
  return { search, go, onChange, onCreate: () => go({ dialog: 'create' }, false) };
}

interface KeysHeaderProps {
  readonly canSelect: boolean;
  readonly onSelect: () => void;
  readonly createButton: RefObject<HTMLButtonElement | null>;
  readonly onCreate: () => void;
  readonly suspended: boolean;
}

function KeysHeader({ canSelect, onSelect, createButton, onCreate, suspended }: KeysHeaderProps): ReactNode {
  return (
    <>
      <PageHeader
        title="API keys"
        description="Every request of your applications carries one of these."
        actions={
          <>
            {canSelect && (
              <Button icon="check" onClick={onSelect}>
                Select
              </Button>
            )}
            <Button ref={createButton} tone="primary" icon="plus" onClick={onCreate}>
              Create key
            </Button>
          </>
        }
      />
      {suspended && (
        <Banner tone="bad" title="This organization is suspended">
          Every request with one of its keys is refused with 403 org_suspended.
        </Banner>
      )}
    </>
  );
}
