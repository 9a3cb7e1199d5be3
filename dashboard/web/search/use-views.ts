import type { LinkProps } from '@tanstack/react-router';
import { readQuery } from '#contract/define-search.ts';
import { type ExploreState, exploreSearch } from '#contract/explore-search.ts';
import type { SavedView } from '#contract/views.ts';
import { useAsk } from '../api/queries.ts';

type ExploreLink = Pick<LinkProps, 'to' | 'params'> & { readonly search: ExploreState };

export interface View extends SavedView {
  readonly link: ExploreLink;
}

export function viewsPath(organization: string | undefined) {
  return organization === undefined ? '/api/views' : '/api/organizations/:organization/views';
}

export function useViews(organization: string | undefined, enabled = true): readonly View[] {
  const params = { organization: organization ?? '' };
  const { data } = useAsk(`GET ${viewsPath(organization)}`, { params }, { enabled });
  if (!enabled || data === undefined) return [];
  const stateOf = ({ search }: SavedView) => exploreSearch(readQuery(search));
  return data.views.map((view) => ({ ...view, link: exploreLink(organization, view.page, stateOf(view)) }));
}

export function exploreLink(
  organization: string | undefined,
  page: SavedView['page'],
  search: ExploreState,
): ExploreLink {
  if (organization === undefined) return { to: '/operator', search };
  return { to: `/o/$organization/${page}`, params: { organization }, search };
}
