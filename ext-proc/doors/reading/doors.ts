import type { Api } from '#core/config/apis.ts';
import type { Door } from '../door.ts';
import { MESSAGES_DOOR } from '../messages/messages-door.ts';
import { RESPONSES_DOOR } from '../responses/responses-door.ts';

const DOORS = new Map<Api, Door>([
  ['responses', RESPONSES_DOOR],
  ['messages', MESSAGES_DOOR],
]);

/** The door of an API by its name, which can be sent to threads. Other APIs have none. */
export function doorOf(api: Api): Door | undefined {
  return DOORS.get(api);
}
