/**
 * PostgreSQL is well, and refuses this charge for what it is; another attempt would end the same
 * way. Nothing was charged.
 */
export class ChargeRefused extends Error {
  override readonly name = 'ChargeRefused';
}
