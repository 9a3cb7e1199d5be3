import type { DashboardProcessConfig, MailConfig, OidcConfig, StripeConfig } from '#core/config/dashboard-config.ts';
import { countOf } from '#core/count-of.ts';
import type { DatabaseDiagnosis } from '#database/diagnosis.ts';
import { type Finding, ok, problem, warning } from './check.ts';

/**
 * Checks of services that only the dashboard uses, in the way in which it would use them from this
 * machine. They send no mail, sign nobody in and change nothing at Stripe.
 */

/** Logs in to the mail server. */
export async function lookAtMail({ server }: MailConfig): Promise<readonly Finding[]> {
  const { checkMailServer } = await import('#dashboard/server/alerts/mail-transport.ts');
  const where = `${server.host}:${server.port}`;
  const wrong = await checkMailServer(server);
  if (wrong === undefined)
    return [ok('mail', `${where} answers${server.login === undefined ? ', without a login' : ' and takes the login'}`)];
  return [problem('mail', `${where}: ${wrong}`, mailAdvice(wrong))];
}

function mailAdvice(wrong: string): string {
  if (wrong.includes('certificate'))
    return 'Correct the certificate or the name in mail.smtp_url, or add its CA to the dashboard by NODE_EXTRA_CA_CERTS.';
  if (wrong.includes('TLS')) return 'Let it offer TLS, or set mail.plaintext: true for a relay without a login.';
  return 'Check mail.smtp_url, its user and password, and firewalls.';
}

/** Reads the issuer's metadata, and tries the client's secret at the issuer. */
export async function lookAtIssuer(oidc: OidcConfig): Promise<readonly Finding[]> {
  const { checkIssuer } = await import('#dashboard/server/oidc/issuers.ts');
  const wrong = await checkIssuer(oidc);
  if (wrong === undefined)
    return [ok('sign-in', `${oidc.issuer} describes itself as sign_in.oidc expects, and does not refuse the client`)];
  const advice = wrong.includes('client_secret')
    ? 'Copy sign_in.oidc.client_id and client_secret again from the issuer.'
    : 'sign_in.oidc.issuer must be as the issuer writes it, to the last slash, and be reachable from here.';
  return [problem('sign-in', `${oidc.issuer}: ${wrong}`, advice)];
}

const MODES = {
  live: 'in live mode: cards are charged',
  test: 'in test mode: no card is charged',
  unknown: 'in a mode that the key does not name',
} as const;

/** Calls Stripe with the configured key. */
export async function lookAtStripe(stripe: StripeConfig): Promise<readonly Finding[]> {
  const { checkStripe } = await import('#dashboard/server/payments/account-check.ts');
  const where = stripe.apiBase.host;
  const answer = await checkStripe(stripe);
  switch (answer.kind) {
    case 'answers':
      return [ok('payments', `${where} takes the key, ${MODES[answer.mode]}`)];
    case 'wrong_key':
      return [problem('payments', `${where} refuses the key`, 'Copy payments.stripe.secret_key again from Stripe.')];
    case 'not_allowed':
      return [
        problem(
          'payments',
          `${where}: the key may not read payments`,
          'Give it the rights in docs/operating.md, "Payments by Stripe".',
        ),
      ];
    case 'away':
      return [
        problem('payments', `${where} does not answer`, 'Check payments.stripe.api_base, firewalls and proxies.'),
      ];
  }
}

/** Checks whether Stripe's events arrive. */
export async function lookAtEvents(database: DatabaseDiagnosis): Promise<readonly Finding[]> {
  const check = 'payment events';
  const missed = await database.missedEvents();
  if (missed === 0) return [ok(check, 'Stripe’s events arrive, as far as payments show')];
  const found = `Stripe sent no event about ${countOf(missed, 'payment')} of the last day`;
  return [warning(check, found, 'Check the webhook endpoint at Stripe, unless the dashboard was away.')];
}

/** Checks the public URL, to which Stripe and the issuer return browsers and mails link. */
export function lookAtAddress({ dashboard, signIn, stripe, mail }: DashboardProcessConfig): readonly Finding[] {
  const users = [
    ...(mail === undefined ? [] : ['mail']),
    ...(signIn.oidc === undefined ? [] : ['sign_in.oidc']),
    ...(stripe === undefined ? [] : ['payments']),
  ];
  if (users.length === 0) return [];
  if (dashboard.url !== undefined) return [ok('dashboard address', `dashboard.url is ${dashboard.url}`)];
  const found = `dashboard.url is not set, and ${users.join(', ')} lead people to the dashboard`;
  return [warning('dashboard address', found, 'Set dashboard.url to the address that browsers use.')];
}
