import { join } from 'node:path';
import { expect, test } from 'vitest';
import { configFolder } from './load.fixture.ts';
import { loadConfig } from './load.ts';

const folder = configFolder();

const SECTION = `sign_in:
  password: false
  oidc:
    issuer: https://login.example.com/
    client_id: gateway
    client_secret: \${OIDC_CLIENT_SECRET}
    operator_claim: {groups: gateway-operators}
`;
const env = { OIDC_CLIENT_SECRET: 'client-sentinel' };

test('ways to sign in are loaded by the dashboard alone, with the issuer as it was written', async () => {
  await folder.loaded(SECTION, env);
  const path = join(folder.path, 'gateway.yaml');
  const dashboard = await loadConfig(path, env, { secrets: 'dashboard' });
  expect(dashboard.ok && dashboard.config.signIn).toEqual({
    password: false,
    oidc: {
      ...{ issuer: 'https://login.example.com/', clientId: 'gateway', clientSecret: 'client-sentinel' },
      scopes: ['openid', 'email', 'profile'],
      operatorClaim: { name: 'groups', value: 'gateway-operators' },
    },
  });
  const others = [
    await loadConfig(path, {}),
    await loadConfig(path, {}, { secrets: 'none' }),
    await loadConfig(path, env, { secrets: 'checked' }),
  ];
  expect(others.map(({ ok }) => ok)).toEqual([true, true, true]);
  expect(JSON.stringify(others)).not.toContain('sentinel');
});

test('without the section passwords sign in', async () => {
  await folder.loaded('workers: 1', {});
  const loaded = await loadConfig(join(folder.path, 'gateway.yaml'), {}, { secrets: 'dashboard' });
  expect(loaded.ok && loaded.config.signIn).toEqual({ password: true });
});
