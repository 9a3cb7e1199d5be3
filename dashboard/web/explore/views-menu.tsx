import { useLocation, useNavigate } from '@tanstack/react-router';
import { type ReactNode, useState } from 'react';
import { queryText } from '#contract/define-search.ts';
import { type ExploreState, exploreSearch } from '#contract/explore-search.ts';
import { useOrganizationOfPage } from '../api/queries.ts';
import { Button } from '../components/button.tsx';
import { loadedLater } from '../components/loaded-later.tsx';
import { Menu } from '../overlays/menu.tsx';
import type { MenuAction } from '../overlays/menu-popup.tsx';
import { exploreLink, useViews, type View } from '../search/use-views.ts';
import type { ViewDialogProps } from './view-dialog.tsx';

// Loaded later, with the forms, which the home page does not need.
const ViewDialog = loadedLater(() => import('./view-dialog.tsx').then((module) => module.ViewDialog));

type NamedStates = Readonly<Record<string, ExploreState>>;

const OF_ORGANIZATION: NamedStates = {
  'Spend by model, this month': { by: 'model', range: 'month' },
  'Spend by end user, yesterday': { by: 'user', range: 'yesterday' },
  'Errors by code': { by: 'code', show: 'failures' },
  'First token by model': { by: 'model', show: 'p95' },
};
const OF_ALL: NamedStates = {
  'Balances running out first': { by: 'organization', sort: 'lasts' },
  'Errors by provider': { by: 'provider', show: 'failures' },
  'Margin by model': { by: 'model', show: 'margin', range: '30d' },
};

/** Named states of the explorer: built-in ones and those that people saved. */
export function ViewsMenu({ page }: Pick<View, 'page'>): ReactNode {
  const organization = useOrganizationOfPage();
  const views = useViews(organization);
  const [what, setWhat] = useState<ViewDialogProps['what']>();
  const navigate = useNavigate();
  const search = useLocation({ select: (location) => queryText(exploreSearch(location.search)) });
  const current = views.find((view) => view.page === page && queryText(view.link.search) === search);
  const usual = Object.entries(organization === undefined ? OF_ALL : OF_ORGANIZATION).map(
    ([label, state]): MenuAction => ({
      label,
      onSelect: () => void navigate(exploreLink(organization, 'overview', state)),
    }),
  );
  const saved = views.map(
    (view): MenuAction => ({
      label: view.name,
      ...(!view.mine && view.createdBy !== undefined && { detail: view.createdBy }),
      chosen: view === current,
      onSelect: () => void navigate(view.link),
    }),
  );
  const change: MenuAction = current?.mine
    ? { label: 'Edit this view…', icon: 'edit', onSelect: () => setWhat(current) }
    : { label: 'Save this view…', icon: 'plus', onSelect: () => setWhat({ page, search }) };
  return (
    <>
      <Menu
        trigger={<Button icon="eye">Views</Button>}
        groups={[
          { actions: usual },
          ...(saved.length > 0 ? [{ heading: 'Shared', actions: saved }] : []),
          { actions: [change] },
        ]}
      />
      {what && <ViewDialog views={views} what={what} onClose={() => setWhat(undefined)} />}
    </>
  );
}
