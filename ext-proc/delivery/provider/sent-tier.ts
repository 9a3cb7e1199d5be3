import type { Target } from '#core/config/gateway-config.ts';
import type { ChatRequest } from '../../chat/chat-request.ts';
import { shapeMembers } from '../../chat/request-shaping.ts';
import { DIALECTS } from './dialects.ts';

/**
 * The service tier in the request to a target, by its name in chat completions. It is the client's
 * unless the target's `request` option changes it. `undefined`: none is sent, and the provider's
 * own rules apply.
 */
export function sentTierOf(
  { api, shaping = [] }: Pick<Target, 'api' | 'shaping'>,
  { serviceTier, hasTools }: Pick<ChatRequest, 'serviceTier' | 'hasTools'>,
): string | undefined {
  if (shaping.length === 0) return serviceTier;
  const dialect = DIALECTS[api];
  const words = dialect?.tierMembers?.(serviceTier) ?? (serviceTier === undefined ? {} : { service_tier: serviceTier });
  const members = new Map(Object.entries(words).map(([name, word]) => [name, JSON.stringify(word)]));
  const shaped = shapeMembers(members, shaping, hasTools, (json) => json);
  const word = (name: string) => textIn(shaped.get(name));
  return dialect?.tierIn ? dialect.tierIn(word) : word('service_tier');
}

function textIn(json: string | undefined): string | undefined {
  const value: unknown = json === undefined ? undefined : JSON.parse(json);
  return typeof value === 'string' ? value : undefined;
}
