import type { CheckedConfig } from '#core/config/gateway-config.ts';
import type { Environment } from '#core/config/load.ts';
import { shellText } from '#core/shell-text.ts';
import type { Customer, SignIn } from './demo-accounts.ts';
import { demoProviderPort, exampleModel } from './demo-model.ts';
import { reachable } from './readiness.ts';

/**
 * Text for the operator once everything serves. With `keptIn`, the file with the first password and
 * key, the text contains neither.
 */
export function renderBanner(
  config: CheckedConfig,
  customer: Customer,
  signIn: SignIn,
  env: Environment,
  keptIn?: string,
): string {
  const gateway = commandLine(env);
  const api = `${config.listen.tls === undefined ? 'http' : 'https'}://${reachable(config.listen.api)}/v1`;
  const lines = [
    'Inference Gateway is ready.',
    '',
    `  API        ${api}`,
    `  Dashboard  ${config.dashboard.url ?? `http://${reachable(config.listen.dashboard)}`}`,
    `  Metrics    http://${reachable(config.listen.metrics)}/metrics`,
  ];
  if (demoProviderPort(config) !== undefined) {
    lines.push('', '  No provider key is set, so the demo model answers: canned text, not a language model.');
  }
  if (keptIn === undefined)
    lines.push('', ...howToSignIn(signIn, gateway), '', ...nextStep(config, customer, api, gateway));
  else {
    lines.push(
      '',
      '  The first sign-in and key do not belong into a journal. They are in this file; read it, then remove it:',
    );
    lines.push(`  ${keptIn}`);
  }
  lines.push('', '  Ctrl-C drains and stops everything.');
  return `\n${lines.join('\n')}\n\n`;
}

/** Commands need the variables of this gateway. DATABASE_URL has a password. */
function commandLine(env: Environment): string {
  const variables = (['GATEWAY_CONFIG', 'GATEWAY_DATA'] as const).flatMap((name) => {
    const value = env[name];
    if (!value) return [];
    return `${name}=${/^[\w./-]+$/.test(value) ? value : shellText(value)} `;
  });
  return `  ${variables.join('')}${env.DATABASE_URL ? 'DATABASE_URL=… ' : ''}npm run -s gateway --`;
}

function howToSignIn(signIn: SignIn, gateway: string): string[] {
  switch (signIn.kind) {
    case 'new':
      return [
        '  Sign in to the dashboard as an operator. The password is shown this once:',
        `  ${signIn.email}   ${signIn.password}`,
      ];
    case 'existing':
      return [
        '  To sign in to the dashboard with a new password:',
        `${gateway} user reset-password ${signIn.email ?? 'EMAIL'}`,
      ];
    case 'none':
      return [
        '  Nobody can sign in to the dashboard yet. To make an operator:',
        `${gateway} user create --email EMAIL --operator`,
      ];
  }
}

function nextStep(config: CheckedConfig, customer: Customer, api: string, gateway: string): string[] {
  switch (customer.kind) {
    case 'demo':
      return [
        '  This key belongs to a new demo organization with 10 USD of credit. It is shown this once:',
        `  ${customer.key}`,
        '',
        '  Try it:',
        ...example(config, api, customer.key),
      ];
    case 'existing':
      return [
        '  To make another key:',
        `${gateway} key create --org ${customer.organizationId} --name NAME --scopes chat,usage:read`,
      ];
    case 'none':
      return [
        '  There is no organization yet. To make one, and then its key:',
        `${gateway} org create --name NAME --credit USD`,
        `${gateway} key create --org ID --name NAME --scopes chat,usage:read`,
      ];
  }
}

/** A command to copy. Ids and keys contain no apostrophe, so no further quoting is needed. */
function example(config: CheckedConfig, api: string, key: string): string[] {
  const model = exampleModel(config);
  if (model === undefined) return ['  (no model of the configuration can answer yet: set a provider key)'];
  const body = JSON.stringify({ model, stream: true, messages: [{ role: 'user', content: 'Hello! Who are you?' }] });
  const options = config.listen.tls === undefined ? '-sN' : '-skN';
  return [
    `  curl ${options} ${api}/chat/completions \\`,
    `    -H 'Authorization: Bearer ${key}' \\`,
    `    -H 'Content-Type: application/json' \\`,
    `    -d '${body}'`,
  ];
}
