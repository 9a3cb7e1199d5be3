import { lazy, type ReactNode, Suspense } from 'react';
import type { OrganizationFinderProps } from './organization-finder.tsx';

// Only operators load it, when they open it.
const OrganizationFinder = lazy(() =>
  import('./organization-finder.tsx').then((module) => ({ default: module.OrganizationFinder })),
);

/** A dialog in which operators find any organization. */
export function FindOrganization(props: OrganizationFinderProps): ReactNode {
  return (
    <Suspense>
      <OrganizationFinder {...props} />
    </Suspense>
  );
}
