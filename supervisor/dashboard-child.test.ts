import { expect, test } from 'vitest';
import { loadConfig } from '../ext-proc/config/load.ts';
import { withoutProviderKeys } from './dashboard-child.ts';

test("the dashboard's environment has what the configuration refers to, but no provider's key", async () => {
  const env = { OPENAI_API_KEY: 'secret-of-the-provider', PATH: '/usr/bin', EMPTY: '', LANG: 'C', A_NUMBER: '8' };
  const loaded = await loadConfig('config/gateway.yaml', env);
  if (!loaded.ok) throw new Error(loaded.problems[0]?.message);
  expect(loaded.config.providers.get('openai')?.apiKey).toBe('secret-of-the-provider');
  expect(withoutProviderKeys({ env, config: loaded.config })).toEqual({
    PATH: '/usr/bin',
    EMPTY: '',
    LANG: 'C',
    A_NUMBER: '8',
  });
});
