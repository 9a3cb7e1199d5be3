import type { GatewayConfig } from '../ext-proc/config/gateway-config.ts';
import { demoProviderPort, exampleModel } from './demo-provider.ts';
import { reachable } from './readiness.ts';

/** What the operator reads when everything serves. `demoKey` is there once, on the empty database it was made in. */
export function renderBanner(config: GatewayConfig, demoKey: string | undefined): string {
  const api = `${config.listen.tls === undefined ? 'http' : 'https'}://${reachable(config.listen.api)}/v1`;
  const lines = [
    'Inference Gateway is ready.',
    '',
    `  API       ${api}`,
    `  Metrics   http://${reachable(config.listen.metrics)}/metrics`,
  ];
  if (demoProviderPort(config) !== undefined) {
    lines.push('', '  No provider key is set, so the demo model answers: canned text, not a language model.');
  }
  if (demoKey === undefined) {
    lines.push(
      '',
      '  A key for an organization:',
      '  npm run -s gateway -- key create --org ID --name NAME --scopes chat,usage:read',
    );
    lines.push('  (npm run -s gateway -- org list shows the organizations.)');
  } else {
    lines.push(
      '',
      '  This key belongs to a new demo organization with 10 USD of credit. It is shown this once:',
      `  ${demoKey}`,
    );
    lines.push('', '  Try it:', ...example(config, api, demoKey));
  }
  lines.push('', '  Ctrl-C drains and stops everything.');
  return `\n${lines.join('\n')}\n\n`;
}

function example(config: GatewayConfig, api: string, key: string): string[] {
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
