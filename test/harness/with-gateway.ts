import { afterAll, beforeAll, inject } from 'vitest';
import { type FakeProvider, type FakeProviderOptions, startFakeProvider } from '../provider/fake-provider.ts';
import type { DeploymentOptions } from './deployment.ts';
import { showLogsOnFailure } from './failure-logs.ts';
import { type GatewayClient, type GatewayClientOptions, gatewayClient } from './gateway-client.ts';
import type { CustomerOptions } from './operator.ts';
import { startTestPostgres, type TestPostgres } from './postgres-server.ts';
import { type Stack, startStack } from './stack.ts';
import type { TestConfig } from './test-config.ts';

export interface GatewayOptions extends Omit<DeploymentOptions, 'postgresSocketDir' | 'config'> {
  /** Default of `providers`: the fixture's own provider, named `fake`. */
  readonly config: Omit<TestConfig, 'providers'> & Partial<Pick<TestConfig, 'providers'>>;
}

export interface GatewaySurroundings {
  readonly provider?: FakeProviderOptions;
  /**
   * True starts a PostgreSQL server for this file alone, which tests may stop or kill. Default: the
   * shared server.
   */
  readonly ownPostgres?: boolean;
}

/** A gateway that runs during the tests of a file. Reading its parts before `beforeAll` throws. */
export interface TestGateway {
  readonly provider: FakeProvider;
  readonly stack: Stack;
  /** Only with `ownPostgres`. */
  readonly postgres: TestPostgres;
  /** Opens a client with the key of a new customer. It is closed with the gateway. */
  openClient(customer?: CustomerOptions, client?: GatewayClientOptions): Promise<GatewayClient>;
}

/**
 * Starts a provider and a gateway in front of it for the tests of a file, and stops both
 * afterwards. Prints the gateway's logs when a test fails. Options are a function if they need the
 * provider or values that exist only in `beforeAll`.
 */
export function withGateway(
  options: GatewayOptions | ((provider: FakeProvider) => GatewayOptions | Promise<GatewayOptions>),
  surroundings: GatewaySurroundings = {},
): TestGateway {
  let provider: FakeProvider | undefined;
  let postgres: TestPostgres | undefined;
  let stack: Stack | undefined;
  const clients: GatewayClient[] = [];
  const gateway: TestGateway = {
    get provider() {
      return started(provider);
    },
    get stack() {
      return started(stack);
    },
    get postgres() {
      return started(postgres);
    },
    openClient: async (customer, client) => {
      const { key } = await gateway.stack.operator.customer(customer);
      const opened = gatewayClient(gateway.stack.origin, key, client);
      clients.push(opened);
      return opened;
    },
  };
  beforeAll(async () => {
    provider = await startFakeProvider(surroundings.provider);
    if (surroundings.ownPostgres) postgres = await startTestPostgres();
    const { config, ...others } = typeof options === 'function' ? await options(provider) : options;
    stack = await startStack({
      postgresSocketDir: postgres?.socketDir ?? inject('postgresSocketDir'),
      config: { providers: { fake: { base_url: provider.baseUrl } }, ...config },
      ...others,
    });
  });
  afterAll(async () => {
    for (const client of clients) client.close();
    await stack?.close();
    await postgres?.stop();
    await provider?.close();
  });
  showLogsOnFailure(() => stack);
  return gateway;
}

function started<T>(part: T | undefined): T {
  if (part === undefined) throw new Error('the gateway of this file has not been started');
  return part;
}
