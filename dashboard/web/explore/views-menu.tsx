import { useLocation, useNavigate } from '@tanstack/react-router';
import { lazy, type ReactNode, Suspense, useState } from 'react';
import { type ExploreState, exploreSearch } from '#contract/explore-search.ts';
import { Button } from '../components/button.tsx';
import { Menu } from '../overlays/menu.tsx';
import type { MenuAction } from '../overlays/menu-popup.tsx';
import { useKept } from '../search/use-kept.ts';

// With the forms, which the home page does not wait for.
const NameDialog = lazy(() => import('./name-dialog.tsx').then((module) => ({ default: module.NameDialog })));

interface View {
  readonly name: string;
  /** Address of the page, with all that is chosen there. */
  readonly href: string;
}

type NamedStates = Readonly<Record<string, ExploreState>>;

const OF_ORGANIZATION: NamedStates = {
  'Spend by model, this month': { by: 'model', range: 'month' },
  'Spend by end user, yesterday': { by: 'user', range: 'yesterday' },
  'Errors by code': { by: 'code', show: 'failures' },
  'First token by model': { by: 'model', show: 'p95' },
};
const OF_ALL: NamedStates = {
  'Who runs dry': { by: 'organization', sort: 'lasts' },
  'Errors by provider': { by: 'provider', show: 'failures' },
  'Margin by model': { by: 'model', show: 'margin', range: '30d' },
};

const MOST_VIEWS = 50;

function readViews(stored: unknown): readonly View[] {
  const all: readonly unknown[] = Array.isArray(stored) ? stored : [];
  return all.filter(isView).slice(0, MOST_VIEWS);
}

function isView(one: unknown): one is View {
  const { name, href } = (one ?? {}) as Partial<Record<keyof View, unknown>>;
  return typeof name === 'string' && typeof href === 'string' && /^\/(?!\/)/.test(href);
}

/** Named states of the explorer: some that everybody has, and those that this browser keeps. */
export function ViewsMenu({ organization }: { readonly organization: string | undefined }): ReactNode {
  const [views, keep] = useKept(`views ${organization ?? ''}`, readViews);
  const [naming, setNaming] = useState(false);
  const navigate = useNavigate();
  const href = useLocation({ select: (location) => location.href });
  const usual = Object.entries(organization === undefined ? OF_ALL : OF_ORGANIZATION).map(
    ([label, state]): MenuAction => ({
      label,
      onSelect: () =>
        void (organization === undefined
          ? navigate({ to: '/operator', search: exploreSearch({ ...state }) })
          : navigate({
              to: '/o/$organization/overview',
              params: { organization },
              search: exploreSearch({ ...state }),
            })),
    }),
  );
  const own = views.map(
    (view): MenuAction => ({
      label: view.name,
      chosen: view.href === href,
      onSelect: () => void navigate({ href: view.href }),
    }),
  );
  const current = views.find((view) => view.href === href);
  const change: MenuAction = current
    ? { label: `Forget “${current.name}”`, icon: 'trash', onSelect: () => keep(views.filter((one) => one !== current)) }
    : { label: 'Save this view…', icon: 'plus', onSelect: () => setNaming(true) };
  return (
    <>
      <Menu
        trigger={<Button icon="eye">Views</Button>}
        groups={[
          { actions: usual },
          ...(own.length > 0 ? [{ heading: 'Kept in this browser', actions: own }] : []),
          { actions: [change] },
        ]}
      />
      {naming && (
        <Suspense>
          <NameDialog
            onClose={() => setNaming(false)}
            onName={(name) => keep([...views.filter((one) => one.name !== name), { name, href }].slice(-MOST_VIEWS))}
          />
        </Suspense>
      )}
    </>
  );
}
