import { type ReactNode, useRef } from 'react';
import type { KeyView } from '#contract/keys.ts';
import { countOf } from '#core/count-of.ts';
import { isExpiring, type KeyGroup } from '#core/key-filter.ts';
import { useAsk } from '../../api/queries.ts';
import { serverMs } from '../../api/server-clock.ts';
import { Button } from '../../components/button.tsx';
import { Banner, EmptyState } from '../../components/panels.tsx';
import { Instant } from '../../components/values.tsx';
import { SegmentedControl } from '../../forms/choices.tsx';
import { SearchFilter } from '../../forms/filter-bar.tsx';
import { SORTABLE_KEYS, sortKeys } from '../../keys/key-sorting.ts';
import { type Url, useUrl } from '../../search/use-url.ts';
import { SuspendedBanner } from '../../shell/use-organization.tsx';
import { CsvLink, ListPage } from '../../table/list-page.tsx';
import { tableSorting } from '../../table/sorting.ts';
import { type KeysState, keysSearch } from '../searches.ts';
import { useKeyOverlays } from './key-overlays.tsx';
import { KeySelectionBar, useKeySelection } from './key-selection-bar.tsx';
import { filterKeys, isSelectable } from './key-status.ts';
import { EXTEND, type KeyActions, keyColumns } from './keys-columns.tsx';

const REFRESH_MS = 15_000;

const GROUP_LABELS: Readonly<Record<KeyGroup, string>> = {
  usable: 'Active',
  expiring: 'Expiring',
  ended: 'Inactive',
  all: 'All',
};

export function KeysPage(): ReactNode {
  const url = useUrl(keysSearch);
  const { search, change } = url;
  const { show = 'usable' } = search;
  const createButton = useRef<HTMLButtonElement>(null);
  const selection = useKeySelection();
  const isSelecting = selection.ids !== undefined;
  const query = useAsk('GET /api/organizations/:organization/keys', {}, { refreshMs: REFRESH_MS });
  const keys = query.data?.keys;
  const [overlays, actionsOf] = useKeyOverlays({ keys, url, createButton });
  const filtered = keys && filterKeys(keys, search, serverMs());
  const onCreate = () => change({ dialog: 'create' }, 'step');
  return (
    <ListPage
      title="API keys"
      help="api.html#limits-and-holds"
      description="Your applications send one with every request."
      actions={
        <>
          {(isSelecting || keys === undefined || keys.some(isSelectable)) && (
            // One button for both, so that it keeps the focus.
            <Button
              icon="check"
              disabled={keys === undefined}
              onClick={() => (isSelecting ? selection.end() : selection.select([]))}
            >
              {isSelecting ? 'Done' : 'Select'}
            </Button>
          )}
          <Button ref={createButton} tone="primary" icon="plus" onClick={onCreate}>
            Create key
          </Button>
        </>
      }
      banners={<SuspendedBanner />}
      url={url}
      filters={<KeysFilters url={url} />}
      besideFilters={<CsvLink table="keys" query={{ show, search: search.search }} />}
      note={
        filtered && (
          <>
            <ExpiryBanner keys={keys} url={url} actionsOf={actionsOf} />
            <KeySelectionBar keys={keys} shown={filtered.shown} selection={selection} afterwards={createButton} />
          </>
        )
      }
      query={query}
      nouns={['key', 'keys']}
      caption="API keys"
      columns={keyColumns(selection, actionsOf)}
      rows={filtered && sortKeys(filtered.shown, search)}
      sorting={tableSorting(url, SORTABLE_KEYS)}
      onOpen={({ id }) => change({ key: id }, 'step')}
      openKey={search.key}
      noMatch={false}
      empty={filtered && <NoKeys url={url} found={filtered.found} total={keys.length} onCreate={onCreate} />}
    >
      {overlays}
    </ListPage>
  );
}

function KeysFilters({ url }: { readonly url: Url<KeysState> }): ReactNode {
  return (
    <>
      <SearchFilter label="Search names and notes" url={url} />
      <SegmentedControl
        label="State"
        value={url.search.show ?? 'usable'}
        choices={GROUP_LABELS}
        onChange={(show) => url.change({ show })}
      />
    </>
  );
}

const MOST_NAMES = 3;

interface ExpiryBannerProps {
  readonly keys: readonly KeyView[];
  readonly url: Url<KeysState>;
  readonly actionsOf: KeyActions;
}

/** Announces keys that expire within a week, while there is time to extend or replace them. */
function ExpiryBanner({ keys, url: { search, change }, actionsOf }: ExpiryBannerProps): ReactNode {
  const nowMs = serverMs();
  const expiring = keys
    .filter((key) => isExpiring(key, nowMs))
    .toSorted((a, b) => (a.expiresAtMs ?? 0) - (b.expiresAtMs ?? 0));
  const [first, ...others] = expiring;
  if (first === undefined) return null;
  const extension = others.length === 0 ? actionsOf(first).find(({ label }) => label === EXTEND) : undefined;
  const extend = extension && <Button onClick={extension.onSelect}>{extension.label}</Button>;
  const show = others.length > 0 && search.show !== 'expiring' && (
    <Button onClick={() => change({ show: 'expiring', search: undefined })}>Show them</Button>
  );
  return (
    <Banner
      tone="warn"
      title={`${countOf(expiring.length, 'key')} ${others.length === 0 ? 'expires' : 'expire'} within 7 days`}
      action={extend ?? show}
    >
      {expiring.slice(0, MOST_NAMES).map((key, index) => (
        <span key={key.id}>
          {index > 0 && ', '}“{key.name}” <Instant atMs={key.expiresAtMs ?? 0} show="relative" />
        </span>
      ))}
      {expiring.length > MOST_NAMES && ` and ${countOf(expiring.length - MOST_NAMES, 'other')}`}. Then requests get 401
      key_expired, unless you extend or replace {others.length === 0 ? 'it' : 'them'} before.
    </Banner>
  );
}

interface NoKeysProps {
  readonly url: Url<KeysState>;
  /** Number of keys that match the search in any state. */
  readonly found: number;
  readonly total: number;
  readonly onCreate: () => void;
}

/** Replaces an empty list. Shows the reason and what to do. */
function NoKeys({ url: { search, change }, found, total, onCreate }: NoKeysProps): ReactNode {
  if (total === 0) {
    return (
      <EmptyState
        icon="key"
        title="No API keys yet"
        action={
          <Button tone="primary" icon="plus" onClick={onCreate}>
            Create key
          </Button>
        }
      >
        Your application sends a key with every request. The key decides who pays and what it may use.
      </EmptyState>
    );
  }
  if (found === 0) {
    return (
      <EmptyState
        icon="search"
        title="No matching keys"
        action={<Button onClick={() => change({ search: undefined })}>Clear the search</Button>}
      >
        Search by name, note, id, last four characters or creator.
      </EmptyState>
    );
  }
  const state = GROUP_LABELS[search.show ?? 'usable'].toLowerCase();
  return (
    <EmptyState
      icon="key"
      title={`No ${search.search === undefined ? '' : 'matching '}${state} key`}
      action={<Button onClick={() => change({ show: 'all' })}>{found === 1 ? 'Show it' : 'Show them'}</Button>}
    >
      {countOf(found, 'key is', 'keys are')} in another state.
    </EmptyState>
  );
}
