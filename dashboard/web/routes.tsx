import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { ApiProblem } from './api/problem.ts';
import { loadSession } from './api/session.ts';
import { readAuditUrl, readOperatorAuditUrl } from './pages/audit/audit-url.ts';
import { readCreditsUrl } from './pages/credits/ledger-url.ts';
import { readKeysUrl } from './pages/keys/keys-url.ts';
import { readModelsUrl } from './pages/models/models-url.ts';
import { readCostsUrl } from './pages/operator-costs/costs-url.ts';
import { readOverviewUrl } from './pages/overview/overview-url.ts';
import { readRequestsUrl } from './pages/requests/requests-url.ts';
import { readUsageUrl } from './pages/usage/usage-url.ts';
import { idOf, oneOf, text, urlReader } from './search/url-values.ts';
import { NoOrganization, PageNotFound, ShellFailed } from './shell/fallback-pages.tsx';
import { Shell } from './shell/shell.tsx';
import { rememberOrganization, startOrganization } from './shell/use-organization.ts';

const root = createRootRouteWithContext<{ readonly queryClient: QueryClient }>()();

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: urlReader({ back: text }),
  component: lazyRouteComponent(() => import('./pages/sign-in/sign-in-page.tsx'), 'SignInPage'),
});

const callback = createRoute({
  getParentRoute: () => root,
  path: '/sign-in/callback',
  component: lazyRouteComponent(() => import('./pages/sign-in/callback-page.tsx'), 'CallbackPage'),
});

const link = createRoute({
  getParentRoute: () => root,
  path: '/link',
  component: lazyRouteComponent(() => import('./pages/link/link-page.tsx'), 'LinkPage'),
});

/** Routes that need a session. */
const app = createRoute({
  getParentRoute: () => root,
  id: 'app',
  component: Shell,
  errorComponent: ShellFailed,
  beforeLoad: async ({ context, location }) => {
    try {
      return { session: await loadSession(context.queryClient) };
    } catch (error) {
      if (!(error instanceof ApiProblem) || error.problem !== 'not_signed_in') throw error;
      throw redirect({ to: '/sign-in', search: location.href === '/' ? {} : { back: location.href } });
    }
  },
});

const start = createRoute({
  getParentRoute: () => app,
  path: '/',
  beforeLoad: ({ context: { session } }) => {
    const organization = startOrganization(session);
    if (organization !== undefined) throw redirect({ to: '/o/$organization/overview', params: { organization } });
    if (session.user.isOperator) throw redirect({ to: '/operator/organizations' });
  },
  component: NoOrganization,
});

const organization = createRoute({
  getParentRoute: () => app,
  path: '/o/$organization',
  beforeLoad: ({ params, location }) => {
    rememberOrganization(params.organization);
    if (location.pathname.split('/').filter(Boolean).length === 2)
      throw redirect({ to: '/o/$organization/overview', params });
  },
});

const organizationPages = [
  createRoute({
    getParentRoute: () => organization,
    path: 'overview',
    validateSearch: readOverviewUrl,
    component: lazyRouteComponent(() => import('./pages/overview/overview-page.tsx'), 'OverviewPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'keys',
    validateSearch: readKeysUrl,
    component: lazyRouteComponent(() => import('./pages/keys/keys-page.tsx'), 'KeysPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'playground',
    // Messages stay in the page: addresses are kept in histories and logs.
    validateSearch: urlReader({ model: text, key: idOf('key') }),
    component: lazyRouteComponent(() => import('./pages/playground/playground-page.tsx'), 'PlaygroundPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'requests',
    validateSearch: readRequestsUrl,
    component: lazyRouteComponent(() => import('./pages/requests/requests-page.tsx'), 'RequestsPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'credits',
    validateSearch: readCreditsUrl,
    component: lazyRouteComponent(() => import('./pages/credits/credits-page.tsx'), 'CreditsPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'usage',
    validateSearch: readUsageUrl,
    component: lazyRouteComponent(() => import('./pages/usage/usage-page.tsx'), 'UsagePage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'models',
    validateSearch: readModelsUrl,
    component: lazyRouteComponent(() => import('./pages/models/models-page.tsx'), 'ModelsPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'members',
    validateSearch: urlReader({ search: text, dialog: oneOf(['invite']) }),
    component: lazyRouteComponent(() => import('./pages/members/members-page.tsx'), 'MembersPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'alerts',
    component: lazyRouteComponent(() => import('./pages/alerts/alerts-page.tsx'), 'AlertsPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'audit',
    validateSearch: readAuditUrl,
    component: lazyRouteComponent(() => import('./pages/audit/audit-page.tsx'), 'AuditPage'),
  }),
] as const;

const operatorPages = [
  createRoute({
    getParentRoute: () => app,
    path: '/operator/organizations',
    validateSearch: urlReader({ search: text, dialog: oneOf(['create']) }),
    component: lazyRouteComponent(
      () => import('./pages/operator-organizations/organizations-page.tsx'),
      'OrganizationsPage',
    ),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/operator/users',
    validateSearch: urlReader({ search: text, dialog: oneOf(['invite']) }),
    component: lazyRouteComponent(() => import('./pages/operator-users/users-page.tsx'), 'UsersPage'),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/operator/costs',
    validateSearch: readCostsUrl,
    component: lazyRouteComponent(() => import('./pages/operator-costs/costs-page.tsx'), 'CostsPage'),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/operator/mapping',
    component: lazyRouteComponent(() => import('./pages/operator-mapping/mapping-page.tsx'), 'MappingPage'),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/operator/system',
    component: lazyRouteComponent(() => import('./pages/operator-system/system-page.tsx'), 'SystemPage'),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/operator/alerts',
    component: lazyRouteComponent(
      () => import('./pages/operator-alerts/operator-alerts-page.tsx'),
      'OperatorAlertsPage',
    ),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/operator/audit',
    validateSearch: readOperatorAuditUrl,
    component: lazyRouteComponent(() => import('./pages/audit/audit-page.tsx'), 'OperatorAuditPage'),
  }),
] as const;

const errors = createRoute({
  getParentRoute: () => app,
  path: '/errors',
  validateSearch: urlReader({ search: text }),
  component: lazyRouteComponent(() => import('./pages/errors/errors-page.tsx'), 'ErrorsPage'),
});

const account = createRoute({
  getParentRoute: () => app,
  path: '/account',
  component: lazyRouteComponent(() => import('./pages/account/account-page.tsx'), 'AccountPage'),
});

/** Within the shell, which has the navigation. */
const unknown = createRoute({ getParentRoute: () => app, path: '$', component: PageNotFound });

export const routeTree = root.addChildren([
  signIn,
  callback,
  link,
  app.addChildren([start, organization.addChildren(organizationPages), ...operatorPages, errors, account, unknown]),
]);
