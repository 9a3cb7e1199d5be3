import type { Route } from './http/route.ts';
import { ALERT_ROUTES } from './routes/alerts-routes.ts';
import { AUDIT_ROUTES } from './routes/audit-routes.ts';
import { COSTS_ROUTES } from './routes/costs-routes.ts';
import { EXPLORE_ROUTES } from './routes/explore-routes.ts';
import { KEY_ROUTES } from './routes/keys-routes.ts';
import { MEMBER_ROUTES } from './routes/members-routes.ts';
import { OPERATION_ROUTES } from './routes/operations-routes.ts';
import { ORGANIZATION_ROUTES } from './routes/organizations-routes.ts';
import { OWN_ORGANIZATION_ROUTES } from './routes/own-organization-routes.ts';
import { PLAYGROUND_ROUTES } from './routes/playground-routes.ts';
import { REQUEST_ROUTES } from './routes/requests-routes.ts';
import { SESSION_ROUTES } from './routes/session-routes.ts';
import { TOP_UP_ROUTES } from './routes/top-up-routes.ts';
import { USER_ROUTES } from './routes/users-routes.ts';
import { VIEW_ROUTES } from './routes/views-routes.ts';

/** All routes of the page's API. Each declares its access, which app.ts checks. */
export const ROUTES: readonly Route[] = [
  ...SESSION_ROUTES,
  ...KEY_ROUTES,
  ...MEMBER_ROUTES,
  ...ORGANIZATION_ROUTES,
  ...USER_ROUTES,
  ...OWN_ORGANIZATION_ROUTES,
  ...EXPLORE_ROUTES,
  ...REQUEST_ROUTES,
  ...PLAYGROUND_ROUTES,
  ...TOP_UP_ROUTES,
  ...OPERATION_ROUTES,
  ...ALERT_ROUTES,
  ...AUDIT_ROUTES,
  ...COSTS_ROUTES,
  ...VIEW_ROUTES,
];
