import { isObject, type JsonObject } from '#core/json-object.ts';
import { tierMember } from '../chat-message.ts';

/** Service tiers in chat's words and in Anthropic's, whose fast mode is a `speed`. */

/**
 * Members that ask for a tier. `undefined`: Anthropic has no such tier. `default` must not be
 * served, and billed, as priority: `standard_only` says so.
 */
export function tierMembers(tier: string | undefined): Readonly<Record<string, string>> | undefined {
  switch (tier) {
    case undefined:
      return {};
    case 'default':
      return { service_tier: 'standard_only' };
    case 'priority':
      return { service_tier: 'auto' };
    case 'fast':
      return { speed: 'fast' };
    default:
      return undefined;
  }
}

/** The tier that members ask for. `word`: the value of a member, if it is a text. */
export function tierIn(word: (name: string) => string | undefined): string | undefined {
  if (word('speed') === 'fast') return 'fast';
  const tier = word('service_tier');
  if (tier === 'auto') return 'priority';
  return tier === 'standard_only' ? 'default' : tier;
}

/** The tier that served the message, and that it is billed by. */
export function servedTier(usage: unknown): JsonObject {
  const { service_tier: tier, speed }: JsonObject = isObject(usage) ? usage : {};
  if (speed === 'fast') return { service_tier: 'fast' };
  return tierMember(tier === 'standard' ? 'default' : tier);
}
