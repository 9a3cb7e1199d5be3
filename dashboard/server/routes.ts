import type { Route } from './route.ts';
import { KEY_ROUTES } from './routes-keys.ts';
import { SESSION_ROUTES } from './routes-session.ts';

/** Everything that the page may ask. Who may ask it stands in each route; app.ts checks it. */
export const ROUTES: readonly Route[] = [...SESSION_ROUTES, ...KEY_ROUTES];
