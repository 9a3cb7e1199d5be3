import type { QueryClient } from '@tanstack/react-query';
import { createRootRouteWithContext, createRoute, lazyRouteComponent, redirect } from '@tanstack/react-router';
import { ApiProblem } from './api/problem.ts';
import { loadSession } from './api/session.ts';
import { auditSearch } from './pages/audit/audit-search.ts';
import { readLedgerSearch } from './pages/credits/ledger-search.ts';
import { errorsSearch } from './pages/errors/errors-search.ts';
import { keysSearch } from './pages/keys/keys-search.ts';
import { membersSearch } from './pages/members/members-search.ts';
import { modelsSearch } from './pages/models/models-search.ts';
import { operatorAuditSearch } from './pages/operator-audit/operator-audit-search.ts';
import { organizationsSearch } from './pages/operator-organizations/organizations-search.ts';
import { usersSearch } from './pages/operator-users/users-search.ts';
import { overviewSearch } from './pages/overview/overview-search.ts';
import { requestsSearch } from './pages/requests/requests-search.ts';
import { readUsageSearch } from './pages/usage/usage-search.ts';
import { textOf } from './search/search-values.ts';
import { rememberOrganization } from './shell/last-organization.ts';
import { NoOrganization } from './shell/no-organization.tsx';
import { ShellFailed } from './shell/page-failed.tsx';
import { PageNotFound } from './shell/page-not-found.tsx';
import { Shell } from './shell/shell.tsx';
import { startOrganization } from './shell/use-organization.ts';

const root = createRootRouteWithContext<{ readonly queryClient: QueryClient }>()();

const signIn = createRoute({
  getParentRoute: () => root,
  path: '/sign-in',
  validateSearch: (raw: Record<string, unknown>): { back?: string | undefined } => ({ back: textOf(raw, 'back') }),
  component: lazyRouteComponent(() => import('./pages/sign-in/sign-in-page.tsx'), 'SignInPage'),
});

const link = createRoute({
  getParentRoute: () => root,
  path: '/link',
  component: lazyRouteComponent(() => import('./pages/link/link-page.tsx'), 'LinkPage'),
});

/** Everything that only somebody signed in may see. */
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
    validateSearch: overviewSearch,
    component: lazyRouteComponent(() => import('./pages/overview/overview-page.tsx'), 'OverviewPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'keys',
    validateSearch: keysSearch,
    component: lazyRouteComponent(() => import('./pages/keys/keys-page.tsx'), 'KeysPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'requests',
    validateSearch: requestsSearch,
    component: lazyRouteComponent(() => import('./pages/requests/requests-page.tsx'), 'RequestsPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'credits',
    validateSearch: readLedgerSearch,
    component: lazyRouteComponent(() => import('./pages/credits/credits-page.tsx'), 'CreditsPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'usage',
    validateSearch: readUsageSearch,
    component: lazyRouteComponent(() => import('./pages/usage/usage-page.tsx'), 'UsagePage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'models',
    validateSearch: modelsSearch,
    component: lazyRouteComponent(() => import('./pages/models/models-page.tsx'), 'ModelsPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'members',
    validateSearch: membersSearch,
    component: lazyRouteComponent(() => import('./pages/members/members-page.tsx'), 'MembersPage'),
  }),
  createRoute({
    getParentRoute: () => organization,
    path: 'audit',
    validateSearch: auditSearch,
    component: lazyRouteComponent(() => import('./pages/audit/audit-page.tsx'), 'AuditPage'),
  }),
] as const;

const operatorPages = [
  createRoute({
    getParentRoute: () => app,
    path: '/operator/organizations',
    validateSearch: organizationsSearch,
    component: lazyRouteComponent(
      () => import('./pages/operator-organizations/organizations-page.tsx'),
      'OrganizationsPage',
    ),
  }),
  createRoute({
    getParentRoute: () => app,
    path: '/operator/users',
    validateSearch: usersSearch,
    component: lazyRouteComponent(() => import('./pages/operator-users/users-page.tsx'), 'UsersPage'),
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
    path: '/operator/audit',
    validateSearch: operatorAuditSearch,
    component: lazyRouteComponent(() => import('./pages/operator-audit/operator-audit-page.tsx'), 'OperatorAuditPage'),
  }),
] as const;

const errors = createRoute({
  getParentRoute: () => app,
  path: '/errors',
  validateSearch: errorsSearch,
  component: lazyRouteComponent(() => import('./pages/errors/errors-page.tsx'), 'ErrorsPage'),
});

const account = createRoute({
  getParentRoute: () => app,
  path: '/account',
  component: lazyRouteComponent(() => import('./pages/account/account-page.tsx'), 'AccountPage'),
});

/** Inside the shell, so that one can go on from there. */
const unknown = createRoute({ getParentRoute: () => app, path: '$', component: PageNotFound });

export const routeTree = root.addChildren([
  signIn,
  link,
  app.addChildren([start, organization.addChildren(organizationPages), ...operatorPages, errors, account, unknown]),
]);
