import { createServer, type IncomingMessage, type ServerResponse } from 'node:http';
import type { AddressInfo } from 'node:net';
import { text } from 'node:stream/consumers';
import Provider from 'oidc-provider';
import type { Page } from 'playwright-core';

/**
 * A certified OpenID Connect implementation on loopback, on another site than the dashboard, with a
 * sign-in page.
 */
export interface OpenIdProvider {
  readonly signIn: object;
  /** Claims by subject. */
  readonly people: Map<string, Readonly<Record<string, unknown>>>;
  /** Starts to serve the dashboard at this origin. */
  serve(origin: string): void;
  close(): Promise<void>;
}

const CLIENT = { client_id: 'gateway', client_secret: 'client-secret' };

export async function listenAsOpenIdProvider(): Promise<OpenIdProvider> {
  let handle: (request: IncomingMessage, response: ServerResponse) => void = (_, response) =>
    void response.writeHead(503).end();
  const server = createServer((request, response) => handle(request, response));
  await new Promise<void>((resolve) => server.listen(0, 'localhost', resolve));
  const issuer = `http://localhost:${(server.address() as AddressInfo).port}`;
  const people: OpenIdProvider['people'] = new Map();
  return {
    signIn: { oidc: { issuer, ...CLIENT, operator_claim: { groups: 'gateway-operators' } } },
    people,
    serve(origin) {
      const provider = new Provider(issuer, {
        clients: [
          {
            ...CLIENT,
            redirect_uris: [`${origin}/sign-in/callback`],
            post_logout_redirect_uris: [`${origin}/sign-in`],
          },
        ],
        claims: { email: ['email', 'email_verified'], profile: ['groups'] },
        cookies: { keys: ['key of the test'] },
        features: { devInteractions: { enabled: false } },
        findAccount: (_, subject) => ({ accountId: subject, claims: () => ({ sub: subject, ...people.get(subject) }) }),
        interactions: { url: (_, { uid }) => `/interaction/${uid}` },
        // Consent is always given.
        loadExistingGrant: async ({ oidc }) => {
          const grant = new oidc.provider.Grant({ clientId: CLIENT.client_id, accountId: oidc.session.accountId });
          grant.addOIDCScope('openid email profile');
          await grant.save();
          return grant;
        },
      });
      const serveProtocol = provider.callback();
      handle = (request, response) => {
        if (!request.url?.startsWith('/interaction/')) return serveProtocol(request, response);
        if (request.method === 'GET') return sendPage(response);
        void text(request).then((body) => {
          const accountId = new URLSearchParams(body).get('account') ?? '';
          return provider.interactionFinished(request, response, { login: { accountId } });
        });
      };
    },
    close: () =>
      new Promise((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

function sendPage(response: ServerResponse): void {
  response.setHeader('content-type', 'text/html');
  response.end(
    '<!doctype html><title>Issuer</title><form method="post"><label>Subject <input name="account"></label><button>Go on</button></form>',
  );
}

/** Signs in on the issuer's page. */
export async function proveAtIssuer(page: Page, subject: string): Promise<void> {
  await page.getByLabel('Subject').fill(subject);
  await page.getByRole('button', { name: 'Go on' }).click();
}

export async function signInByIssuer(page: Page, subject: string): Promise<void> {
  await page.getByRole('button', { name: /^Sign in with localhost/ }).click();
  await proveAtIssuer(page, subject);
}

/**
 * Confirms the identity in a new tab, as the page requests before a change, and continues with the
 * change.
 */
export async function confirmAtIssuer(page: Page, subject: string): Promise<void> {
  const asked = page.getByRole('dialog', { name: 'Confirm it’s you' });
  const tab = page.context().waitForEvent('page');
  await asked.getByRole('button', { name: /^Sign in with localhost/ }).click();
  const issuerPage = await tab;
  await proveAtIssuer(issuerPage, subject);
  const { origin } = new URL(page.url());
  await issuerPage.waitForURL((url) => url.origin === origin && !url.pathname.startsWith('/sign-in'));
  await issuerPage.close();
  await asked.getByRole('button', { name: 'Continue' }).click();
  await asked.waitFor({ state: 'detached' });
}
