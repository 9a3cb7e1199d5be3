import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { parse } from 'yaml';
import { REPOSITORY } from '../../harness/deployment.ts';
import type { TestModel, TestProvider } from '../../harness/test-config.ts';
import type { GatewayOptions } from '../../harness/with-gateway.ts';

interface Sample {
  readonly providers: Readonly<Record<string, TestProvider>>;
  readonly models: Readonly<Record<string, Required<Pick<TestModel, 'max_output_tokens' | 'targets'>> & TestModel>>;
}

/** The models, prices and providers of a fresh clone. */
export const SHIPPED = parse(readFileSync(join(REPOSITORY, 'config/gateway.yaml'), 'utf8')) as Sample;

/** A gateway with the shipped models, whose providers are all at the scripted one. */
export function shippedModels({ port }: { readonly port: number }): GatewayOptions {
  const providers = Object.entries(SHIPPED.providers).map(([name, provider]) => {
    const { pathname } = new URL(provider.base_url ?? '');
    return [name, { ...provider, base_url: `http://127.0.0.1:${port}/${name}${pathname}`, api_key: 'key' }] as const;
  });
  return {
    config: { providers: Object.fromEntries(providers), models: SHIPPED.models, retries: { per_target: 0 } },
  };
}
