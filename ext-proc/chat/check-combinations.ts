import { type Refusal, refuse } from '../../core/errors/refusal.ts';
import type { Organization } from '../../core/principal.ts';
import type { ChatRequest } from './chat-request.ts';

/**
 * Rules about the request and the organization, between the fields' own rules and the model's
 * (docs/interface.md, "Order of checks").
 */
export function checkCombinations(chat: ChatRequest, organization: Organization): Refusal | undefined {
  if (chat.completions > 1 && !organization.allowMultipleCompletions) return refuse('n_not_allowed');
  if (chat.jsonFormat && chat.stream) return refuse('json_mode_no_stream');
  if (chat.hasRemoteImages) {
    return refuse('image_url_not_supported', {}, { param: chat.remoteImageParam ?? 'messages' });
  }
  return undefined;
}
