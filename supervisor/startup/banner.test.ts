import { expect, test } from 'vitest';
import type { GatewayConfig } from '#core/config/gateway-config.ts';
import { loadConfig } from '#core/config/load.ts';
import { renderBanner } from './banner.ts';
import type { Customer, SignIn } from './demo-accounts.ts';
import { demoProviderPort, exampleModel } from './demo-model.ts';

async function defaultConfig(env: Record<string, string>): Promise<GatewayConfig> {
  const loaded = await loadConfig('config/gateway.yaml', env);
  if (!loaded.ok) throw new Error(loaded.problems[0]?.message);
  return loaded.config;
}

const demo = { kind: 'demo', organizationId: 'org-1', key: 'sk-gw-example' } as const;
const nobody = { kind: 'none' } as const;

test('without a provider key the demo provider runs, and the example uses its model', async () => {
  const config = await defaultConfig({});
  expect(demoProviderPort(config)).toBe(9390);
  const banner = renderBanner(config, demo, nobody, {});
  expect(banner).toContain('canned text, not a language model');
  expect(banner).toContain('curl -sN http://localhost:8080/v1/chat/completions');
  expect(banner).toContain('"model":"demo-chat"');
});

test('with a provider key the demo provider is not started, and the example uses a real model', async () => {
  const config = await defaultConfig({ OPENAI_API_KEY: 'secret-of-the-provider' });
  expect(demoProviderPort(config)).toBeUndefined();
  expect(exampleModel(config)).toBe('gpt-6-luna');
  const banner = renderBanner(config, demo, nobody, {});
  expect(banner).not.toContain('canned text');
  expect(banner).not.toContain('secret-of-the-provider');
});

test('with `demo: false` there is no demo provider', async () => {
  const config = { ...(await defaultConfig({})), demo: false };
  expect(demoProviderPort(config)).toBeUndefined();
  expect(renderBanner(config, { kind: 'none' }, nobody, {})).toContain('org create --name NAME');
});

test('later starts explain how to make a key', async () => {
  const customer = { kind: 'existing', organizationId: 'org-1' } as const;
  const banner = renderBanner(await defaultConfig({}), customer, nobody, {});
  expect(banner).toContain('npm run -s gateway -- key create --org org-1 --name NAME --scopes chat,usage:read');
});

test('shows the address of the dashboard, and who can sign in', async () => {
  const config = await defaultConfig({});
  const signedIn = { kind: 'new', email: 'demo@example.com', password: 'h7kq-example' } as const;
  const first = renderBanner(config, demo, signedIn, {});
  expect(first).toContain('  Dashboard  http://127.0.0.1:8081\n');
  expect(first).toContain('  demo@example.com   h7kq-example\n');
  const later = renderBanner(config, demo, { kind: 'existing', email: 'demo@example.com' }, {});
  expect(later).toContain('npm run -s gateway -- user reset-password demo@example.com\n');
  expect(renderBanner(config, demo, { kind: 'existing' }, {})).toContain('user reset-password EMAIL\n');
  expect(renderBanner(config, demo, nobody, {})).toContain('user create --email EMAIL --operator\n');
  const published = { ...config, dashboard: { ...config.dashboard, url: 'https://gateway.example.com' } };
  expect(renderBanner(published, demo, nobody, {})).toContain('  Dashboard  https://gateway.example.com\n');
});

test('its commands work where they are pasted: with the folders and the database of this gateway', async () => {
  const config = await defaultConfig({});
  const env = {
    GATEWAY_CONFIG: "/etc/my gateway's/it.yaml",
    GATEWAY_DATA: '/var/lib/gw',
    DATABASE_URL: 'postgres://u:pw@h/d',
  };
  const commands = (customer: Customer, signIn: SignIn) =>
    renderBanner(config, customer, signIn, env).match(/.*npm run -s gateway -- .*/g) ?? [];
  const all = [
    ...commands({ kind: 'none' }, nobody),
    ...commands({ kind: 'existing', organizationId: 'org-1' }, { kind: 'existing' }),
  ];
  expect(all).toHaveLength(5);
  const variables = "GATEWAY_CONFIG='/etc/my gateway'\\''s/it.yaml' GATEWAY_DATA=/var/lib/gw DATABASE_URL=…";
  for (const command of all) expect(command.startsWith(`  ${variables} npm run -s gateway -- `)).toBe(true);
});
