import type { Route } from './route.ts';
import { OVERVIEW_ROUTES } from './routes-overview.ts';

/** Everything that the page may ask. Who may ask it stands in each route; app.ts checks it. */
export const ROUTES: readonly Route[] = [...OVERVIEW_ROUTES];
