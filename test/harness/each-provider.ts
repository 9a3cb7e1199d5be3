import { afterEach } from 'vitest';
import { type FakeProvider, type FakeProviderOptions, startFakeProvider } from '../provider/fake-provider.ts';

/** Starts providers that end after the test that started them. */
export function eachProvider(): (options?: FakeProviderOptions) => Promise<FakeProvider> {
  const started: FakeProvider[] = [];
  afterEach(() => Promise.all(started.splice(0).map((provider) => provider.close())));
  return async (options) => {
    const provider = await startFakeProvider(options);
    started.push(provider);
    return provider;
  };
}
