import { afterAll, beforeAll } from 'vitest';

/** What tests open, and have to end. */
type Openable = { close(): unknown } | { stop(): unknown };

/**
 * Opens something for the tests of a file or block, and ends it after them. What is opened first
 * ends last. Reading a part of it before `beforeAll` throws.
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
    if (value !== undefined) await ('close' in value ? value.close() : value.stop());
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
