import type { JsonObject } from '#core/json-object.ts';
import { editObject, type MemberEdits, membersOf } from '../dialects/json-members.ts';
import { hidingWithin, isHidden, shownWithin } from '../dialects/shown-members.ts';
import type { ResponseNames } from './door.ts';

/**
 * Edits of a provider's response that is passed on: its names are set, its usage and members that
 * are not for the client removed, also within `output`.
 */
export function passedEdits(response: JsonObject, output: string, { generationId, model }: ResponseNames) {
  // Without a prototype: a member may be called `__proto__`.
  const edits = Object.create(null) as Record<string, string | undefined>;
  edits.usage = undefined;
  for (const name of Object.keys(response)) if (isHidden(name)) edits[name] = undefined;
  const shown = shownWithin(response[output]);
  if (shown !== undefined) edits[output] = JSON.stringify(shown);
  edits.id = JSON.stringify(generationId);
  edits.model = JSON.stringify(model);
  return edits;
}

/** An event with its member edited, and without members that are not for the client. */
export function editedWithin(data: string, event: JsonObject, name: string, edits: MemberEdits): string {
  const members = membersOf(data);
  const given = members.findLast((member) => member.name === name);
  if (given === undefined) return data;
  const edited = editObject(data.slice(given.valueStart, given.valueEnd), edits);
  return editObject(data, { ...hidingWithin(event, []), [name]: edited }, members);
}
