/**
 * This Redis, or what its URL says, cannot keep limits until the operator changes it. Not an
 * outage.
 */
export class RedisRefused extends Error {
  override readonly name = 'RedisRefused';
}
