import type { CheckedConfig, KeylessProvider, Model } from '#core/config/gateway-config.ts';

/** Name of the provider in config/gateway.yaml that demo/provider.ts serves. */
const DEMO_PROVIDER = 'demo';
const LOOPBACK = new Set(['127.0.0.1', 'localhost']);

/**
 * Port of the demo provider, if it is to run: with `demo: true`, a provider `demo` at a local
 * address, and no other usable model. Once a real provider's key is set, only that provider
 * responds.
 */
export function demoProviderPort(config: CheckedConfig): number | undefined {
  const provider = config.providers.get(DEMO_PROVIDER);
  if (!config.demo || provider === undefined || !isOnThisMachine(provider.baseUrl)) return undefined;
  if ([...config.models.values()].some((model) => isUsable(model) && !isDemoModel(model))) return undefined;
  return Number(provider.baseUrl.port || 80);
}

export function isOnThisMachine({ protocol, hostname }: URL): boolean {
  return protocol === 'http:' && LOOPBACK.has(hostname);
}

/** The model in the banner's example. It must be usable. */
export function exampleModel(config: CheckedConfig): string | undefined {
  const usable = [...config.models.values()].filter(isUsable);
  const withDemo = demoProviderPort(config) !== undefined;
  return usable.find((model) => isDemoModel(model) === withDemo)?.id;
}

function isUsable(model: Model<KeylessProvider>): boolean {
  return !model.disabled && model.problem === undefined && model.targets.length > 0;
}

function isDemoModel(model: Model<KeylessProvider>): boolean {
  return model.targets.every(({ provider }) => provider.name === DEMO_PROVIDER);
}
