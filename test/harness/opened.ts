import { afterAll, beforeAll } from 'vitest';

/** Something that tests open and have to close or stop. */
type Openable = { close(): unknown } | { stop(): unknown } | { end(): unknown };

/**
 * Opens a resource before the tests of a file or block and closes it after them. The first one
 * opened is closed last. Reading a member before `beforeAll` throws.
 */
export function opened<T extends Openable>(open: () => Promise<T>): T {
  let value: T | undefined;
  const valueNow = (): T => {
    if (value === undefined) throw new Error('this is not open: it is opened before the tests, and ended after them');
    return value;
  };
  beforeAll(async () => {
    value = await open();
  });
  afterAll(async () => {
    if (value === undefined) return;
    await ('close' in value ? value.close() : 'stop' in value ? value.stop() : value.end());
  });
  return new Proxy({} as T, {
    get: (_, name) => {
      const part = Reflect.get(valueNow(), name);
      return typeof part === 'function' ? part.bind(valueNow()) : part;
    },
    set: (_, name, part) => Reflect.set(valueNow(), name, part),
    has: (_, name) => name in valueNow(),
  });
}
