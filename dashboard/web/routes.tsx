import type { QueryClient } from '@tanstack/react-query';
import {
  createRootRouteWithContext,
  createRoute,
  lazyRouteComponent,
  type RouteComponent,
  redirect,
} from '@tanstack/react-router';
import { defineSearch, type RawSearch, text } from '#contract/define-search.ts';
import { exploreSearch, exploreSearchOfOne } from '#contract/explore-search.ts';
import { ApiProblem } from './api/api.ts';
import { loadSession } from './api/session.ts';
import {
  auditSearch,
  connectSearch,
  costsSearch,
  creditsSearch,
  errorsSearch,
  keysSearch,
  mappingSearch,
  membersSearch,
  modelsSearch,
  operatorAuditSearch,
  organizationsSearch,
  playgroundSearch,
  usersSearch,
} from './pages/searches.ts';
import { NoOrganization, PageNotFound, ShellFailed } from './shell/fallback-pages.tsx';
import { Shell } from './shell/shell.tsx';
import { OrganizationPages, startOrganization } from './shell/use-organization.tsx';

const root = createRootRouteWithContext<{ readonly queryClient: QueryClient }>()();

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
    if (session.user.isOperator) throw redirect({ to: '/operator' });
    const organization = startOrganization(session);
    if (organization !== undefined) throw redirect({ to: '/o/$organization/overview', params: { organization } });
  },
  component: NoOrganization,
});

const organization = createRoute({
  getParentRoute: () => app,
  path: '/o/$organization',
  component: OrganizationPages,
  beforeLoad: ({ params, location }) => {
    if (location.pathname.split('/').filter(Boolean).length === 2)
      throw redirect({ to: '/o/$organization/overview', params });
  },
});

/** Makes routes for pages whose code is loaded when they are opened. */
function pagesBelow<Parent extends typeof root | typeof app | typeof organization>(parent: Parent) {
  return <const Path extends string, Name extends string, State extends object = object>(
    path: Path,
    load: () => Promise<Readonly<Record<Name, RouteComponent>>>,
    name: Name,
    validateSearch: (raw: RawSearch) => State = () => ({}) as State,
  ) => {
    const component = lazyRouteComponent(load as () => Promise<Record<string, RouteComponent>>, name);
    return createRoute({ getParentRoute: () => parent, path, validateSearch, component });
  };
}
const inOrganization = pagesBelow(organization);
const inApp = pagesBelow(app);
const before = pagesBelow(root);

const signInSearch = defineSearch({}, { back: text });
const pagesBefore = [
  before('/sign-in', () => import('./pages/sign-in/sign-in-page.tsx'), 'SignInPage', signInSearch),
  before('/forgotten-password', () => import('./pages/sign-in/sign-in-page.tsx'), 'ForgottenPasswordPage'),
  before('/sign-in/callback', () => import('./pages/sign-in/sign-in-page.tsx'), 'CallbackPage'),
  before('/link', () => import('./pages/link/link-page.tsx'), 'LinkPage'),
] as const;

const organizationPages = [
  inOrganization('overview', () => import('./pages/overview/overview-page.tsx'), 'OverviewPage', exploreSearchOfOne),
  inOrganization('keys', () => import('./pages/keys/keys-page.tsx'), 'KeysPage', keysSearch),
  inOrganization(
    'playground',
    () => import('./pages/playground/playground-page.tsx'),
    'PlaygroundPage',
    playgroundSearch,
  ),
  inOrganization('requests', () => import('./pages/requests/requests-page.tsx'), 'RequestsPage', exploreSearchOfOne),
  inOrganization('credits', () => import('./pages/credits/credits-page.tsx'), 'CreditsPage', creditsSearch),
  inOrganization('models', () => import('./pages/models/models-page.tsx'), 'ModelsPage', modelsSearch),
  inOrganization('model', () => import('./pages/model/model-page.tsx'), 'ModelPage', exploreSearchOfOne),
  inOrganization('connect', () => import('./pages/connect/connect-page.tsx'), 'ConnectPage', connectSearch),
  inOrganization('members', () => import('./pages/members/members-page.tsx'), 'MembersPage', membersSearch),
  inOrganization('alerts', () => import('./pages/alerts/alerts-page.tsx'), 'AlertsPage'),
  inOrganization('settings', () => import('./pages/settings/settings-page.tsx'), 'SettingsPage'),
  inOrganization('audit', () => import('./pages/audit/audit-page.tsx'), 'AuditPage', auditSearch),
] as const;

const otherPages = [
  inApp('/operator', () => import('./pages/operator-home/operator-home-page.tsx'), 'OperatorHomePage', exploreSearch),
  inApp(
    '/operator/organizations',
    () => import('./pages/operator-organizations/organizations-page.tsx'),
    'OrganizationsPage',
    organizationsSearch,
  ),
  inApp('/operator/users', () => import('./pages/operator-users/users-page.tsx'), 'UsersPage', usersSearch),
  inApp('/operator/costs', () => import('./pages/operator-costs/costs-page.tsx'), 'CostsPage', costsSearch),
  inApp('/operator/mapping', () => import('./pages/operator-mapping/mapping-page.tsx'), 'MappingPage', mappingSearch),
  inApp('/operator/system', () => import('./pages/operator-system/system-page.tsx'), 'SystemPage'),
  inApp('/operator/alerts', () => import('./pages/alerts/alerts-page.tsx'), 'OperatorAlertsPage'),
  inApp('/operator/audit', () => import('./pages/audit/audit-page.tsx'), 'AuditPage', operatorAuditSearch),
  inApp('/errors', () => import('./pages/errors/errors-page.tsx'), 'ErrorsPage', errorsSearch),
  inApp('/account', () => import('./pages/account/account-page.tsx'), 'AccountPage'),
] as const;

/** Within the shell, so that the navigation is shown. */
const unknown = createRoute({ getParentRoute: () => app, path: '$', component: PageNotFound });

export const routeTree = root.addChildren([
  ...pagesBefore,
  app.addChildren([start, organization.addChildren(organizationPages), ...otherPages, unknown]),
]);
