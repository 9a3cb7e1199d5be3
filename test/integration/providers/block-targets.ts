import { parse } from 'yaml';
import { API_PATHS } from '#core/config/provider-api.ts';
import type { ProviderBlock } from '#scripts/catalogue/provider-blocks.ts';
import { variablesOf } from '../../fixtures/variables-of.ts';
import type { TestConfig, TestModel, TestProvider } from '../../harness/test-config.ts';
import type { GatewayOptions } from '../../harness/with-gateway.ts';
import { timelessModel } from './timeless-model.ts';

/** One target of a block's model, tested as a separate model. */
export interface BlockTarget {
  /** The public id, made of the names of provider and model. */
  readonly id: string;
  readonly provider: string;
  readonly model: string;
  readonly providerModel: string;
  /** The path of its calls, after the provider's name. */
  readonly path: string;
  readonly capabilities: readonly string[];
  readonly efforts: readonly string[];
  readonly extraFields: readonly string[];
  readonly block: ProviderBlock;
}

type Block = Pick<TestConfig, 'providers' | 'models' | 'extra_request_fields'>;

const read = ({ yaml }: ProviderBlock): Block => parse(yaml) as Block;

/** The path of a base URL or endpoint. */
function pathOf(url = ''): string {
  return new URL(url).pathname;
}

export function blockTargets(blocks: readonly ProviderBlock[]): BlockTarget[] {
  return blocks.flatMap((block) => {
    const { providers, models } = read(block);
    return Object.entries(models).flatMap(([model, { targets = [], capabilities = [], reasoning_efforts = [] }]) =>
      targets.map((target): BlockTarget => {
        const { base_url, endpoints, api = 'chat', extra_fields = [] } = providers[target.provider] ?? {};
        return {
          ...{ id: `${target.provider}:${model}`, provider: target.provider, model, providerModel: target.model },
          path: `/${target.provider}${pathOf(base_url ?? endpoints?.[0])}${API_PATHS[api]}`,
          ...{ capabilities, efforts: reasoning_efforts, extraFields: extra_fields, block },
        };
      }),
    );
  });
}

/**
 * A gateway with the blocks' providers at `origin`, each at the path of its name. All have plain
 * keys here; other tests have the providers that Envoy authorizes and keys in files.
 */
export function gatewayOfBlocks(targets: readonly BlockTarget[], origin: string): GatewayOptions {
  const providers: Record<string, TestProvider> = {};
  const models: Record<string, TestModel> = {};
  let extra: Block['extra_request_fields'] = {};
  for (const { id, provider: name, model, providerModel, block } of targets) {
    const { providers: ofBlock, models: modelsOfBlock, extra_request_fields } = read(block);
    extra = { ...extra, ...extra_request_fields };
    const { base_url, endpoints, health_check: _, ...provider } = ofBlock[name] ?? {};
    providers[name] = { ...withKey(provider), base_url: `${origin}/${name}${pathOf(base_url ?? endpoints?.[0])}` };
    const target = modelsOfBlock[model]?.targets?.find((one) => one.provider === name && one.model === providerModel);
    models[id] = { ...timelessModel(modelsOfBlock[model] ?? {}), targets: target ? [target] : [] };
  }
  const env = Object.assign({}, ...targets.map(({ block }) => variablesOf(block.yaml))) as Record<string, string>;
  return { config: { providers, models, extra_request_fields: extra, retries: { per_target: 0 } }, env };
}

function withKey({ auth, ...provider }: Omit<TestProvider, 'base_url'>): Omit<TestProvider, 'base_url'> {
  const isOwnKey = (auth === undefined || 'header' in auth) && !provider.api_key?.includes('file:');
  if (isOwnKey) return { ...(auth === undefined ? {} : { auth }), ...provider };
  return { ...provider, api_key: 'stand-in' };
}
